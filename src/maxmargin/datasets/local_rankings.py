"""Rankings of the local data folder: documents of queries, with grades from 0 to 4."""

from __future__ import annotations

from maxmargin.datasets.dataset import Dataset, data_folder, describe, find_file
from maxmargin.datasets.local import DataHome, standardise
from maxmargin.io.svmlight import read_rankings

__all__ = ["load_lgbm_rank", "load_mslr"]


def load_mslr(*, scale: bool = False, data_home: DataHome = None) -> Dataset:
    """Web search of MSLR-WEB, the first 5000 documents of training and test of fold 1.

    43 queries in either part, 136 features of very different scale, grades 0 to 4. The last query
    of each part is cut short, and two queries for training have only documents of grade 0.

    Parameters
    ----------
    scale : bool, default False
        False: the values of the files. True: each feature less its mean and divided by its standard
        deviation, both of the training part; a constant feature becomes 0.
    data_home : path or None
        See :func:`data_folder`.

    Returns
    -------
    Dataset
        X : float64 arrays of shape (n_documents, 136), one row per document; y : int64 arrays, the
        grades; ``extra["qid_train"]``, ``extra["qid_test"]`` : the query of each row.
    """
    files = {part: f"msn1.fold1.{part}.5k.txt" for part in ("train", "test")}
    data = _load("mslr_5k", files, 136, data_home)
    data.X_train, data.X_test = data.X_train.toarray(), data.X_test.toarray()
    if scale:
        standardise(data)
    return data


def load_lgbm_rank(*, data_home: DataHome = None) -> Dataset:
    """Web search, the example of LightGBM for lambdarank: 3005 and 768 documents.

    201 and 50 queries of about 15 documents, 300 features from 0 to 1 of which a third is not 0,
    grades 0 to 4. Six queries for training have one grade only.

    Returns
    -------
    Dataset
        X : csr matrices of shape (n_documents, 300), one row per document; y : int64 arrays, the
        grades; ``extra["qid_train"]``, ``extra["qid_test"]`` : the query of each row. Both count
        from 1: the same number is another query in the other part.
    """
    files = {part: f"rank.{part}.svm" for part in ("train", "test")}
    return _load("lgbm_rank", files, 300, data_home)


def _load(name: str, files: dict[str, str], n_features: int, data_home: DataHome) -> Dataset:
    folder = data_folder(name, data_home)
    train, test = (
        read_rankings(find_file(folder, files[part]), n_features=n_features, zero_based=False)
        for part in ("train", "test")
    )
    return Dataset(
        name,
        train.X,
        train.grades,
        test.X,
        test.grades,
        classes=sorted(set(train.grades.tolist()) | set(test.grades.tolist())),
        description=describe(folder),
        extra={"qid_train": train.qid, "qid_test": test.qid},
    )
