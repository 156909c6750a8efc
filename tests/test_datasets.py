import numpy as np
import pytest
from sklearn.datasets import load_digits

from maxmargin import datasets
from maxmargin.datasets import (
    load_conll2000,
    load_digit_strings,
    load_keel,
    load_letter,
    load_mnist_5k,
    load_ng20,
    load_ocr,
    load_wnut17,
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
