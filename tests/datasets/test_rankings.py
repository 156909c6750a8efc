import re

import numpy as np
import pytest
from scipy.sparse import issparse

from maxmargin.datasets import load_lgbm_rank, load_mslr, make_rankings
from maxmargin.metrics import ranking_report


def parts(data):
    """Rows, grades and queries of training and test."""
    for part in ("train", "test"):
        yield getattr(data, f"X_{part}"), getattr(data, f"y_{part}"), data.extra[f"qid_{part}"]


@pytest.mark.parametrize(
    ("load", "folder", "is_sparse", "n_one_grade"),
    [(load_mslr, "mslr_5k", False, (2, 0)), (load_lgbm_rank, "lgbm_rank", True, (6, 0))],
)
def test_local_rankings(load, folder, is_sparse, n_one_grade, data_dir):
    if not (data_dir / folder).is_dir():
        pytest.skip(f"no data set {folder} in {data_dir}")
    data = load(data_home=data_dir)
    assert data.name == folder and data.classes == [0, 1, 2, 3, 4]
    sizes = r"(\d+) rows, (\d+) queries, (\d+) features, relevance counts \{([^}]*)\}"
    told = {tuple(row) for row in re.findall(sizes, data.description)}
    found = set()
    for (X, grades, qid), n in zip(parts(data), n_one_grade, strict=True):
        assert issparse(X) == is_sparse and X.dtype == np.float64
        assert grades.dtype == np.int64 and grades.shape == qid.shape == (X.shape[0],)
        counts = ", ".join(f"{g}: {count}" for g, count in enumerate(np.bincount(grades)))
        found.add((str(X.shape[0]), str(len(np.unique(qid))), str(X.shape[1]), counts))
        assert ranking_report(grades, grades, qid).n_undefined["auc"] == n
    assert found == told


def test_mslr_is_scaled_by_its_training_part(data_dir):
    if not (data_dir / "mslr_5k").is_dir():
        pytest.skip(f"no data set mslr_5k in {data_dir}")
    data = load_mslr(scale=True, data_home=data_dir)
    assert np.allclose(data.X_train.mean(axis=0), 0, atol=1e-7)
    deviation = data.X_train.std(axis=0)
    assert (np.isclose(deviation, 1) | (deviation == 0)).all() and np.isfinite(data.X_test).all()


def test_local_rankings_from_small_files(tmp_path):
    folder = tmp_path / "lgbm_rank"
    folder.mkdir()
    (folder / "rank.train.svm").write_text("1 qid:1 1:.5\n0 qid:1 300:1\n")
    with pytest.raises(FileNotFoundError, match=r"lacks the file rank\.test\.svm"):
        load_lgbm_rank(data_home=tmp_path)
    (folder / "rank.test.svm").write_text("2 qid:1 2:.5\n")
    data = load_lgbm_rank(data_home=tmp_path)
    assert data.X_train.shape == (2, 300) and data.X_test[0, 1] == 0.5
    assert data.classes == [0, 1, 2] and data.extra["qid_test"].tolist() == [1]
    (folder / "rank.test.svm").write_text("2 qid:1 301:.5\n")
    with pytest.raises(ValueError, match=r"rank\.test\.svm, line 1: the index of '301:\.5'"):
        load_lgbm_rank(data_home=tmp_path)


def test_drawn_rankings_have_their_shape():
    data = make_rankings(40, (3, 9), 4, 5, test_size=0.2, random_state=1)
    counts = []
    for X, grades, qid in parts(data):
        assert X.shape == (len(qid), 4) and grades.shape == qid.shape
        assert grades.dtype == qid.dtype == np.int64 and (np.diff(qid) >= 0).all()
        counts += np.unique(qid, return_counts=True)[1].tolist()
    assert data.extra["qid_train"].max() == 31 and data.extra["qid_test"].min() == 32
    assert len(counts) == 40 and min(counts) == 3 and max(counts) == 9
    assert data.classes == [0, 1, 2, 3, 4]
    assert np.linalg.norm(data.extra["weights"]) == pytest.approx(1)
    assert make_rankings(3, np.int64(2), test_size=0).X_test.shape == (0, 10)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_each_grade_is_half_as_frequent_as_the_one_below(noise):
    data = make_rankings(400, 25, 3, 4, noise=noise, test_size=0, random_state=0)
    shares = np.bincount(data.y_train) / len(data.y_train)
    assert shares == pytest.approx(np.array([8, 4, 2, 1]) / 15, abs=0.02)


def test_the_weights_rank_as_well_as_the_noise_lets_them():
    means = []
    for noise in (0.0, 0.5, 2.0):
        data = make_rankings(80, 20, 6, noise=noise, test_size=0, random_state=2)
        utilities = data.X_train @ data.extra["weights"]
        report = ranking_report(data.y_train, utilities, data.extra["qid_train"])
        means.append(report.means["auc"])
    assert means[0] == 1 and 1 > means[1] > means[2] > 0.6


def test_queries_are_apart_as_told():
    for spread in (0.0, 3.0):
        data = make_rankings(300, 30, 2, query_spread=spread, test_size=0, random_state=0)
        centres = data.X_train.reshape(300, 30, 2).mean(axis=1)
        assert centres.std() == pytest.approx(np.sqrt(spread**2 + 1 / 30), rel=0.1)


def test_drawn_rankings_repeat_with_the_seed_only():
    a, b, c = (make_rankings(10, random_state=seed) for seed in (5, 5, 6))
    assert (a.X_train == b.X_train).all() and (a.y_test == b.y_test).all()
    assert not (a.X_train == c.X_train).all()
    assert make_rankings(10, random_state=np.random.default_rng(5)).X_train[0, 0] == a.X_train[0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_queries": 0}, "n_queries must be at least 1"),
        ({"n_features": 0}, "n_features must be at least 1"),
        ({"n_documents": 0}, "n_documents must be a number of at least 1"),
        ({"n_documents": (5, 4)}, r"two that do not fall, got \(5, 4\)"),
        ({"grades": 1}, "grades must be at least 2, got 1"),
        ({"noise": -1.0}, "noise must be at least 0"),
        ({"query_spread": float("inf")}, "query_spread must be at least 0 and finite"),
        ({"test_size": 1.0}, "test_size=1.0 leaves no query"),
        ({"test_size": -0.1}, "test_size=-0.1 leaves no query"),
    ],
)
def test_bad_drawn_rankings(options, message):
    with pytest.raises(ValueError, match=message):
        make_rankings(**options)
