"""Rankings: the documents of queries, with grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.formats import Batch, NpzReader, Reader, SvmlightReader
from maxmargin.cli.kinds.base import NOTHING, Kind, noise
from maxmargin.cli.kinds.multiclass import MISSING
from maxmargin.cli.kinds.ranking_measures import query_measures, query_tables
from maxmargin.cli.kinds.ranking_options import EVALUATE, MOST_QUERIES, TRAIN, ranking_cost

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

_WIDE = 1e3  # times the median of the features' largest values, from which one rules all others


class Ranking(Kind):
    """Documents with grades; rows that share a qid are those of one query."""

    name = "ranking"
    estimator = "RankingSVM"
    about = "the documents of queries"
    options = {"train": (TRAIN, MISSING), "evaluate": (EVALUATE,)}
    parameters = {
        "missing": "missing",
        "zeros": "zeros",
        "steps": "steps",
        "relevant": "relevance_threshold",
        "normalize": "normalize_queries",
    }
    readers = {"svmlight": SvmlightReader(queries=True), "npz": NpzReader(queries=True)}
    blocks = ()
    told = {
        "C": "0.1 for rankings",
        "file": "for rankings also .txt",
        "predict": "Rankings: one score per line, in the order of the file; higher stands first.",
        "evaluate": "Rankings: average precision, AUC, NDCG, NDCG@k and precision@k, on average "
        "and query by query.",
    }

    def settings(self, params: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the estimator; k and gain are those of its cost."""
        found = super().settings(params, own)
        cost = ranking_cost(found.get("cost"), own.get("k"), own.get("gain"))
        if cost is not None:
            found["cost"] = cost
        if own.get("normalize") == "none":
            found[self.parameters["normalize"]] = None
        return found

    def check_estimator(self, estimator: Any) -> None:
        """Check the parameters that only rankings have."""
        from maxmargin.inputs.checks import check_number
        from maxmargin.inputs.queries import check_normalization

        estimator._cost()
        check_number(self.parameters["relevant"], _relevant(estimator))
        check_normalization(_normalize(estimator))

    def format_of(self, path: Path) -> str:
        """Return the format that a file's name announces; rankings call theirs .txt, as LETOR does.

        Examples
        --------
        >>> Ranking().format_of(Path("train.txt.gz"))
        'svmlight'
        """
        name = super().format_of(path)
        is_txt = name == "conll" and ".txt" in path.name.lower()[-7:]
        return "svmlight" if is_txt else name

    def unreadable(self, path: Path, reader: type[Reader], model: Path | None) -> str:
        """Say which formats hold queries."""
        return (
            f"{path} is of format {reader.format}, which holds no queries: rankings come as "
            "svmlight with qid, or npz."
        )

    def adapt(self, batch: Batch, estimator: Any) -> Batch:
        """Return the rows of a file dense where they are normalised by query, which fills them.

        A script is asked to do so itself; here the file, not the user, made them sparse.
        """
        if _normalize(estimator) not in ("standard", "minmax") or not hasattr(batch.X, "toarray"):
            return batch
        from maxmargin.io.unpack import to_dense

        return replace(batch, X=to_dense(batch.X, str(batch.path)))

    def advise(self, batch: Batch, kind: str) -> str | None:
        """Say so if another kind ignores the queries of a file."""
        if not batch.ignores_qid:
            return None
        return (
            f"{batch.path} has qid, which `train {kind}` ignores: all rows are samples of their "
            f"own. `train {self.name}` learns to rank the documents of queries."
        )

    def content(self, reader: Reader | None, batch: Batch) -> str:
        """Say how many documents and queries there are."""
        return f"{batch.n_samples} documents of {_n_queries(batch)} queries"

    def warn_of(self, batch: Batch, estimator: Any) -> str | None:
        """Say so if features have such different scales that one rules all others."""
        return scale_note(batch) if _normalize(estimator) is None else None

    def sizes(self, estimator: Any, batch: Batch) -> dict[str, int]:
        """Return the numbers of queries and documents."""
        return {
            "n_queries": _n_queries(batch),
            "n_skipped_queries": int(estimator.n_skipped_),
            "n_documents": batch.n_samples,
            "n_features": int(estimator.n_features_in_),
        }

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return how well scores rank the documents of each query.

        The cost of the model says which gains NDCG has, and a k besides `CUTS`.
        """
        relevant = own.get("relevant")
        relevant = _relevant(model.estimator) if relevant is None else relevant
        return query_measures(model.estimator, batch, guess, own.get("k"), relevant)

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return a table of means and, not after training, one of the first queries.

        The table of queries has the largest k only, so that it fits a terminal.
        """
        if own is None:
            return query_tables(found, title, 0)
        n_shown = MOST_QUERIES if own["queries"] is None else own["queries"]
        return query_tables(found, title, n_shown)

    def weights(self, path: Path, estimator: Any, labels: list[str] | None) -> Any:
        """Return the one row of weights."""
        if labels:
            raise ValueError(f"--label: {path} ranks documents, and has no labels.")
        return estimator.coef_

    def facts(self, estimator: Any) -> dict[str, Any]:
        """Return what documents are ranked by, and which are relevant if the cost goes by that."""
        goes_by_grades = hasattr(estimator._cost(), "gain")
        return {
            "cost": estimator.cost,
            "relevant": None if goes_by_grades else f"grade >= {_relevant(estimator):g}",
            "normalize": _normalize(estimator),
        }

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return two queries of six documents."""
        X, y = noise(storage, dtype)
        return [X[:6], X[6:]], [y[:6], y[6:]]


def _relevant(estimator: Any) -> Any:
    return getattr(estimator, Ranking.parameters["relevant"])


def _normalize(estimator: Any) -> Any:
    return getattr(estimator, Ranking.parameters["normalize"])


def _n_queries(batch: Batch) -> int:
    """Return how many queries a file has; rows without a qid are one."""
    return 1 if batch.qid is None else len(set(batch.qid.tolist()))


def scale_note(batch: Batch) -> str | None:
    """Say so if the features of queries have such different scales that one rules all others.

    Examples
    --------
    >>> import numpy as np
    >>> scale_note(Batch(Path("a.svm"), np.array([[1.0, 1e7, 2.0]]), None, False))
    'Features reach from 1 to 1e+07 (x[1]): training may get nowhere. --normalize maxabs helps.'
    """
    import numpy as np

    sizes = abs(batch.X)
    if hasattr(sizes, "toarray"):
        largest = np.ravel(sizes.nanmax(axis=0).toarray())
    else:
        largest = np.fmax.reduce(sizes, axis=0)  # missing values have no size
    top, used = int(largest.argmax()), largest[largest > 0]
    if not len(used) or not largest[top] > _WIDE * np.median(used):
        return None
    return (
        f"Features reach from {used.min():.3g} to {largest[top]:.3g} (x[{top}]): training may get "
        "nowhere. --normalize maxabs helps."
    )
