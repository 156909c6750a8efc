import itertools
import re

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.datasets import load_digits

from maxmargin import datasets
from maxmargin.datasets import (
    MULAN_SETS,
    load_bibtex,
    load_conll2000,
    load_digit_strings,
    load_keel,
    load_letter,
    load_mnist_5k,
    load_mulan,
    load_ng20,
    load_ocr,
    load_wnut17,
    load_yeast,
    make_label_sets,
)
from maxmargin.tags import check_tags


def test_digit_strings_are_what_they_say():
    data = load_digit_strings(n_strings=80, mean_length=6, seed=3)
    assert len(data.X_train) == len(data.y_train) == 60
    assert len(data.X_test) == len(data.y_test) == 20
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        for x, labels in zip(X, y, strict=True):
            assert x.shape == (len(labels), 64) and x.dtype == np.float64
            assert labels.dtype == np.int32 and len(labels) >= 1
            assert x.min() >= 0 and x.max() <= 1
    lengths = [len(x) for x in data.X_train + data.X_test]
    assert 5 < np.mean(lengths) < 7


def test_digit_strings_show_real_images_and_share_none():
    data = load_digit_strings(n_strings=120, seed=1)
    images, targets = load_digits(return_X_y=True)
    known = {image.tobytes(): target for image, target in zip(images / 16.0, targets, strict=True)}
    seen = []
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        rows, labels = np.concatenate(X), np.concatenate(y)
        assert all(known[row.tobytes()] == k for row, k in zip(rows, labels, strict=True))
        seen.append({row.tobytes() for row in rows})
    assert not seen[0] & seen[1]


def test_digit_strings_speak_the_language():
    data = load_digit_strings(n_strings=400, seed=0)
    transitions, start = data.extra["transitions"], data.extra["start"]
    assert np.allclose(transitions.sum(axis=1), 1) and np.isclose(start.sum(), 1)
    assert ((transitions > 0).sum(axis=1) == 3).all()
    counts = np.zeros((10, 10))
    for y in data.y_train + data.y_test:
        assert start[y[0]] > 0
        np.add.at(counts, (y[:-1], y[1:]), 1)
    assert (counts[transitions == 0] == 0).all()
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert np.abs(shares - transitions).max() < 0.15
    # Every digit can be reached from every other.
    assert (np.linalg.matrix_power(transitions + np.eye(10), 9) > 0).all()


def test_digit_strings_repeat_with_the_seed_only():
    a, b, c = (load_digit_strings(n_strings=20, noise=0.1, seed=seed) for seed in (5, 5, 6))
    assert all(np.array_equal(x, z) for x, z in zip(a.X_train, b.X_train, strict=True))
    assert not np.array_equal(np.concatenate(a.X_train)[:5], np.concatenate(c.X_train)[:5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_strings": 1}, "n_strings must be at least 2"),
        ({"mean_length": 0.5}, "mean_length must be at least 1"),
        ({"mean_length": float("nan")}, "mean_length must be at least 1"),
        ({"test_size": 1.0}, "test_size=1.0 leaves"),
        ({"n_strings": 2, "test_size": 0.1}, "test_size=0.1 leaves"),
        ({"noise": -1.0}, "noise must be at least 0"),
    ],
)
def test_bad_digit_strings(options, message):
    with pytest.raises(ValueError, match=message):
        load_digit_strings(**options)


def test_a_missing_folder_says_where_it_was_sought(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"'ocr' is not in .*nowhere.*MAXMARGIN_DATA"):
        load_ocr()
    with pytest.raises(FileNotFoundError, match="data_home="):
        load_letter(data_home=tmp_path)
    (tmp_path / "ocr").mkdir()
    with pytest.raises(FileNotFoundError, match=r"lacks the file letters\.npz"):
        load_ocr(data_home=tmp_path)
    monkeypatch.delenv("MAXMARGIN_DATA")
    monkeypatch.setattr(datasets.dataset, "__file__", str(tmp_path / "a/b/c/d.py"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with pytest.raises(FileNotFoundError, match="the default place"):
        load_letter()
    folder = tmp_path / "shared" / "data" / "keel_multiclass"
    folder.mkdir(parents=True)
    (folder / "vowel.csv").write_text("1, 2, a\n3, 4, b\n")
    data = load_keel("vowel", test_size=0)
    assert data.X_train.tolist() == [[1, 2], [3, 4]] and data.y_train.tolist() == ["a", "b"]
    assert data.classes == ["a", "b"] and data.X_test.shape == (0, 2)


def test_unknown_choices_are_refused_before_any_reading():
    with pytest.raises(ValueError, match="split='big' is unknown"):
        load_ocr("big")
    with pytest.raises(ValueError, match=r"name='iris' is unknown\. There are: letter"):
        load_keel("iris")
    with pytest.raises(ValueError, match=r"name='reuters' is unknown\. There are: bibtex, del"):
        load_mulan("reuters")


def test_ocr(data_dir):
    small = load_ocr(data_home=data_dir)
    large = load_ocr("large", dtype=np.float32, data_home=data_dir)
    assert (len(small.X_train), len(small.X_test)) == (626, 6251)
    assert (len(large.X_train), len(large.X_test)) == (6251, 626)
    assert large.X_train[0].dtype == np.float32 and small.X_train[0].dtype == np.float64
    base = small.X_train[0].base
    assert base.shape == (52152, 128)
    assert all(x.base is base for x in small.X_train + small.X_test)
    for a, b in zip(small.X_train, large.X_test, strict=True):
        assert np.array_equal(a, b)
    words = {"".join(small.classes[k] for k in y) for y in small.y_train}
    assert len(words) == 55 and "ommanding" in words


def test_column_sets(data_dir):
    chunks = load_conll2000(data_home=data_dir)
    assert (len(chunks.X_train), len(chunks.X_test), len(chunks.classes)) == (8936, 2012, 23)
    assert chunks.X_train[0][0] == ("Confidence", "NN") and chunks.y_train[0][0] == "B-NP"
    tweets = load_wnut17(data_home=data_dir)
    sizes = [len(x) for x in (tweets.X_train, tweets.X_dev, tweets.X_test)]
    assert sizes == [3394, 1009, 1287] and len(tweets.classes) == 13
    assert sum(map(len, tweets.X_train)) == 62730
    for tags in chunks.y_train[:500] + tweets.y_dev:
        check_tags(tags, "iob2")


def test_class_sets(data_dir):
    letter = load_letter(data_home=data_dir)
    assert letter.X_train.shape == (16000, 16) and letter.X_test.shape == (4000, 16)
    assert letter.X_train.min() == 0 and letter.X_train.max() == 15 and len(letter.classes) == 26
    scaled = load_letter(scale=True, data_home=data_dir)
    assert np.allclose(scaled.X_train.mean(axis=0), 0) and np.allclose(
        scaled.X_train.std(axis=0), 1
    )
    assert (scaled.y_train == letter.y_train).all()
    digits = load_mnist_5k(scale=True, test_size=0, data_home=data_dir)
    assert digits.X_train.shape == (5000, 784) and digits.X_train.max() == 1
    assert np.bincount(digits.y_train).tolist() == [500] * 10
    vowel = load_keel("vowel", data_home=data_dir)
    assert len(vowel.y_train) + len(vowel.y_test) == 990
    news = load_ng20(data_home=data_dir)
    assert news.X_train.shape == (12900, 1006) and news.X_test.shape == (6400, 1006)
    assert len(news.classes) == 20 and len(news.extra["features"]) == 1006
    assert np.mean([len(y) for y in news.y_train]) == pytest.approx(1.027, abs=5e-4)


@pytest.mark.parametrize("name", MULAN_SETS)
def test_label_sets_of_mulan(name, data_dir):
    if not (data_dir / f"ml_{name}").is_dir():
        pytest.skip(f"no data set ml_{name} in {data_dir}")
    data = load_mulan(name, data_home=data_dir)
    sizes = r"(\d+) rows, (\d+) features, (\d+) labels"
    found = [tuple(map(int, row)) for row in re.findall(sizes, data.description)]
    n_train, n_test = data.X_train.shape[0], data.X_test.shape[0]
    d, q = data.X_train.shape[1], len(data.classes)
    assert found == [(n_train, d, q), (n_test, d, q)]
    assert data.y_train.shape == (n_train, q) and data.y_test.shape == (n_test, q)
    assert len(data.extra["features"]) == d
    # The table in the docstring is true.
    assert [name, *map(str, (n_train, n_test, d, q))] in [
        line.split() for line in load_mulan.__doc__.splitlines()
    ]
    assert issparse(data.X_train) == issparse(data.y_train) == (name in ("bibtex", "delicious"))


def test_mulan_by_short_names_and_scaled(data_dir):
    for name in ("ml_yeast", "ml_bibtex"):
        if not (data_dir / name).is_dir():
            pytest.skip(f"no data set {name} in {data_dir}")
    yeast = load_yeast(scale=True, data_home=data_dir)
    assert np.allclose(yeast.X_train.mean(axis=0), 0) and np.allclose(yeast.X_train.std(axis=0), 1)
    # In the order of the ARFF file, not of the xml file.
    assert yeast.classes == [f"Class{k}" for k in range(1, 15)]
    bibtex = load_bibtex(data_home=data_dir)
    assert bibtex.classes[0] == "TAG_2005" and set(bibtex.X_train.data) == {1.0}
    with pytest.raises(ValueError, match="scale=True would fill the sparse features of 'bibtex'"):
        load_mulan("bibtex", scale=True, data_home=data_dir)


def test_mulan_parts_must_fit(tmp_path):
    folder = tmp_path / "ml_scene"
    folder.mkdir()
    (folder / "scene.xml").write_text('<labels><label name="a"/></labels>')
    for part, feature in (("train", "x"), ("test", "z")):
        text = f"@attribute {feature} real\n@attribute a {{0,1}}\n@data\n1,1\n"
        (folder / f"scene-{part}.arff").write_text(text)
    with pytest.raises(ValueError, match="have different attributes"):
        load_mulan("scene", data_home=tmp_path)


def exact_marginals(data, x):
    """P(y_j = 1 | x) and P(y_j = y_k = 1 | x), by the formula of the docstring."""
    W, b, J = (data.extra[key] for key in ("weights", "bias", "couplings"))
    total, single, pair = 0.0, 0.0, 0.0
    for bits in itertools.product((0, 1), repeat=len(b)):
        y = np.array(bits)
        mass = np.exp(y @ (W @ x + b) + sum(J[j, k] for j, k in pairs_of(y)))
        total, single, pair = total + mass, single + mass * y, pair + mass * np.outer(y, y)
    return single / total, pair / total


def pairs_of(y):
    return itertools.combinations(np.flatnonzero(y), 2)


def test_label_sets_follow_their_distribution():
    data = make_label_sets(6000, 3, 4, coupling=1.5, random_state=1, test_size=0)
    assert data.X_train.shape == (6000, 3) and data.y_train.shape == (6000, 4)
    assert data.X_test.shape == (0, 3) and data.y_train.dtype == np.int64
    assert set(np.unique(data.y_train)) == {0, 1}
    J = data.extra["couplings"]
    assert (J == J.T).all() and (np.diag(J) == 0).all()
    single, pair = (
        np.mean(values, axis=0)
        for values in zip(*(exact_marginals(data, x) for x in data.X_train[:2000]), strict=True)
    )
    Y = data.y_train[:2000]
    # Four standard deviations of a mean of 2000.
    assert np.abs(Y.mean(axis=0) - single).max() < 4 * 0.5 / np.sqrt(2000)
    assert np.abs(Y.T @ Y / 2000 - pair).max() < 4 * 0.5 / np.sqrt(2000)


def test_couplings_make_labels_go_together():
    free = make_label_sets(4000, 2, 5, signal=0, coupling=0, bias=0, random_state=0)
    tied = make_label_sets(4000, 2, 5, signal=0, coupling=2, bias=0, random_state=0)
    off = ~np.eye(5, dtype=bool)
    assert np.abs(np.corrcoef(free.y_train.T)[off]).max() < 0.08
    found = np.corrcoef(tied.y_train.T)[off]
    assert np.abs(found).max() > 0.4
    strongest = np.abs(tied.extra["couplings"]).argmax()
    assert np.sign(np.corrcoef(tied.y_train.T).flat[strongest]) == np.sign(
        tied.extra["couplings"].flat[strongest]
    )
    assert np.abs(tied.y_train.mean(axis=0) - 0.5).max() < 0.05


def test_label_sets_repeat_with_the_seed_only(monkeypatch):
    a, b, c = (make_label_sets(30, random_state=seed) for seed in (5, 5, 6))
    assert (a.X_train == b.X_train).all() and (a.y_test == b.y_test).all()
    assert not (a.X_train == c.X_train).all()
    # Drawn in pieces, the sets are the same.
    monkeypatch.setattr(datasets.label_sets, "_CELLS", 100)
    assert (make_label_sets(30, random_state=5).y_train == a.y_train).all()
    one = make_label_sets(3, 1, 1, test_size=0.5, random_state=np.random.default_rng(0))
    assert one.y_train.shape == (1, 1) and one.y_test.shape == (2, 1)
    wide = make_label_sets(4, 2, 16, signal=1e4, coupling=1e4, random_state=0)
    assert wide.y_train.shape == (3, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1"),
        ({"n_features": 0}, "n_features must be at least 1"),
        ({"n_labels": 0}, "n_labels must be from 1 to 16"),
        ({"n_labels": 17}, "n_labels must be from 1 to 16, since all sets are listed, got 17"),
        ({"signal": -1.0}, "signal must be at least 0"),
        ({"coupling": float("nan")}, "coupling must be at least 0 and finite"),
        ({"bias": float("inf")}, "bias must be finite"),
        ({"test_size": 1.0}, "test_size=1.0 leaves no sample"),
        ({"test_size": -0.1}, "test_size=-0.1 leaves no sample"),
    ],
)
def test_bad_drawn_label_sets(options, message):
    with pytest.raises(ValueError, match=message):
        make_label_sets(**options)
