"""Strings of real digit images whose digits follow a Markov language."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from maxmargin.datasets.dataset import Dataset
from maxmargin.io.npz import cut

__all__ = ["load_digit_strings"]

_SUCCESSORS = (0.6, 0.3, 0.1)


def _language(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Start probabilities and transition matrix: three digits may follow each, the rest never.

    The likeliest successors form one cycle through all digits, so every digit can be reached.
    """
    cycle = rng.permutation(10)
    transitions = np.zeros((10, 10))
    for here, following in zip(cycle, np.roll(cycle, -1), strict=True):
        others = rng.permutation(np.delete(np.arange(10), following))[: len(_SUCCESSORS) - 1]
        transitions[here, [following, *others]] = _SUCCESSORS
    start = np.zeros(10)
    start[rng.permutation(10)[:4]] = (0.4, 0.3, 0.2, 0.1)
    return start, transitions


def _strings(
    n: int,
    mean_length: float,
    start: NDArray[np.float64],
    transitions: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Digits of `n` strings under one another, and their offsets. Lengths are 1 + Poisson."""
    lengths = 1 + rng.poisson(mean_length - 1.0, size=n)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    digits = np.empty(offsets[-1], dtype=np.int64)
    for first, stop in pairwise(offsets):
        digits[first] = rng.choice(10, p=start)
        for t in range(first + 1, stop):
            digits[t] = rng.choice(10, p=transitions[digits[t - 1]])
    return digits, offsets


def _draw_images(
    digits: NDArray[np.int64],
    pool: NDArray[np.int64],
    targets: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """An image of `pool` for every digit; none comes again before all of its digit have come."""
    chosen = np.empty(len(digits), dtype=np.int64)
    for digit in range(10):
        places = np.flatnonzero(digits == digit)
        images = pool[targets[pool] == digit]
        rounds = -(-len(places) // len(images))
        deck = [rng.permutation(images) for _ in range(rounds)] or [images[:0]]
        chosen[places] = np.concatenate(deck)[: len(places)]
    return chosen


def load_digit_strings(
    n_strings: int = 600,
    mean_length: float = 8.0,
    *,
    test_size: float = 0.25,
    noise: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Strings of handwritten digits in which the order of the digits says much.

    The images are scikit-learn's digits, 8 x 8 pixels scaled to 0..1. The digits of a string follow
    a Markov chain in which three digits may follow each (with probabilities .6, .3 and .1) and the
    other seven never do. A quarter of the images make the test strings and no others, so no image
    is in both parts.

    Parameters
    ----------
    n_strings : int, default 600
        Strings in both parts together.
    mean_length : float, default 8.0
        Mean length of a string; lengths are one plus a Poisson number.
    test_size : float, default 0.25
        Share of the strings, and of the images, that are for the test.
    noise : float, default 0.0
        Standard deviation of Gaussian noise added to every pixel, to make single digits harder.
    seed : int, default 0
        The same seed gives the same strings.

    Returns
    -------
    Dataset
        X : lists of float64 arrays of shape (length, 64); y : lists of int32 arrays, digits 0 to 9.
        ``extra["transitions"]``, ``extra["start"]`` : the probabilities of the language.

    Examples
    --------
    >>> data = load_digit_strings(n_strings=40, seed=0)
    >>> len(data.X_train), len(data.X_test)
    (30, 10)
    >>> data.X_train[0].shape[1], len(data.X_train[0]) == len(data.y_train[0])
    (64, True)
    """
    if n_strings < 2:
        raise ValueError(f"n_strings must be at least 2, got {n_strings}.")
    if not mean_length >= 1:
        raise ValueError(f"mean_length must be at least 1, got {mean_length}.")
    n_test = round(test_size * n_strings)
    if not 0 < test_size < 1 or not 0 < n_test < n_strings:
        raise ValueError(
            f"test_size={test_size} leaves training or test without one of {n_strings} strings."
        )
    if not noise >= 0:
        raise ValueError(f"noise must be at least 0, got {noise}.")
    rng = np.random.default_rng(seed)
    start, transitions = _language(rng)
    images, targets = load_digits(return_X_y=True)
    images = images / 16.0
    test_pool, train_pool = _split_images(targets, test_size, rng)

    parts: list[Any] = []
    for n, pool in ((n_strings - n_test, train_pool), (n_test, test_pool)):
        digits, offsets = _strings(n, mean_length, start, transitions, rng)
        X = images[_draw_images(digits, pool, targets, rng)]
        if noise:
            X = X + rng.normal(scale=noise, size=X.shape)
        parts += [cut(X, offsets), cut(digits.astype(np.int32), offsets)]
    X_train, y_train, X_test, y_test = parts
    return Dataset(
        "digit_strings",
        X_train,
        y_train,
        X_test,
        y_test,
        classes=list(range(10)),
        description="Strings of scikit-learn's digits (UCI optical recognition of handwritten "
        "digits, test part) that follow a Markov language with three successors a digit.",
        extra={"transitions": transitions, "start": start},
    )


def _split_images(
    targets: NDArray[np.int64], test_size: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Images for the test and for training, digit by digit; at least one each."""
    test, train = [], []
    for digit in range(10):
        images = rng.permutation(np.flatnonzero(targets == digit))
        n_test = min(max(1, round(test_size * len(images))), len(images) - 1)
        test.append(images[:n_test])
        train.append(images[n_test:])
    return np.concatenate(test), np.concatenate(train)
