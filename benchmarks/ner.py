"""Names and chunks: margin rescaling beside ProbLoss and Micro-F1 (Choi 2018, table 5.4).

wnut17 with the "ner" templates, conll2000 as chunking with the "chunking" templates. The source
took CoNLL 2003, which is not here, and gazetteers, of which none come with these data. For each
surrogate C is chosen on the development part, by the score of the line, and the model is scored
once on the test part. The variance of ProbLoss is no further parameter: scores divided by its root
are scores of other weights, so that variance v at C is v = 2 / pi at 2 C / (pi v). Of conll2000
1000 training sentences, drawn, are for development. At most 20 passes each, 100 of Micro-F1, whose
gap on wnut17 was .81 after 20. Convex losses by bcfw, the plain ProbLoss (and margin once more) by
SGD with a fixed rate, the averaged weights.

Macro-F1 is the mean over types of the F1 of segments. Micro-F1 is that of the source, the mean over
sentences of the F1 of what the surrogate `MicroF1` looks at: positions that are not O, with their
tags (1 where there are none, in truth and guess). Differences are tested by approximate
randomisation over sentences, 2000 draws; standard errors are those of the bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from harness import Check, Line, cpu_seconds
from paired import compare

from maxmargin import ChainSVM
from maxmargin.datasets import load_conll2000, load_wnut17
from maxmargin.io import FeatureTemplate, tags_to_spans
from maxmargin.metrics import chunk_f1
from maxmargin.solvers import SGD
from maxmargin.surrogates import ProbLoss

PASSES = 20
RATE = 0.01
N_DEV = 1000  # sentences of conll2000, drawn; the others train


class Problem(NamedTuple):
    """Sentences as features, with their tags: to learn from, to choose C by, to be scored."""

    name: str
    train: tuple[Any, Any]
    dev: tuple[Any, Any]
    test: tuple[Any, Any]


#: What is compared, and the values of C that are tried. Micro-F1 divides by the size of sets.
GRID = (0.03, 0.1, 0.3, 1.0, 3.0)
METHODS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "margin": ({"surrogate": "margin"}, GRID),
    "convex ProbLoss": ({"surrogate": "prob"}, GRID),
    "Micro-F1": ({"surrogate": "micro_f1", "max_iter": 100}, (3.0, 10.0, 30.0)),
    "margin, SGD": ({"surrogate": "margin", "solver": SGD(rate=RATE)}, (0.1, 1.0, 10.0)),
    "ProbLoss, SGD": (
        {"surrogate": ProbLoss(convex=False), "solver": SGD(rate=RATE)}, (0.1, 1.0, 10.0)
    ),
}  # fmt: skip


def lines() -> Iterator[Line]:
    for problem in (_wnut17(), _conll2000()):
        yield from _lines_of(problem)


def _wnut17() -> Problem:
    data = load_wnut17()
    template = FeatureTemplate.parse("ner", data.extra["columns"])
    train, dev, test = (
        (template.transform(X), y)
        for X, y in (
            (data.X_train, data.y_train),
            (data.X_dev, data.y_dev),
            (data.X_test, data.y_test),
        )
    )
    return Problem("wnut17", train, dev, test)


def _conll2000() -> Problem:
    data = load_conll2000()
    template = FeatureTemplate.parse("chunking", data.extra["columns"])
    X, y = template.transform(data.X_train), data.y_train
    order = np.random.default_rng(0).permutation(len(X))
    train, dev = (
        ([X[k] for k in part], [y[k] for k in part]) for part in (order[:-N_DEV], order[-N_DEV:])
    )
    return Problem("conll2000", train, dev, (template.transform(data.X_test), data.y_test))


class Found(NamedTuple):
    """A method with the C that dev chose for a score, and what it found in the test part."""

    C: float
    dev: float
    seconds: float
    counts: np.ndarray
    f1: float
    note: str


def _lines_of(problem: Problem) -> Iterator[Line]:
    known = (problem.train[1], problem.dev[1], problem.test[1])
    types = sorted({tag[2:] for part in known for tags in part for tag in tags if tag != "O"})
    measures: dict[str, tuple[Callable[[Any, Any], np.ndarray], Callable[..., np.ndarray]]] = {
        "Macro-F1": (lambda y, guess: segment_counts(y, guess, types), macro_f1),
        "Micro-F1": (position_f1, lambda sums: sums[..., 0] / sums[..., 1]),
    }
    models = {
        name: {C: _trained(options, C, *problem.train) for C in grid}
        for name, (options, grid) in METHODS.items()
    }
    for title, base, others in (
        ("Macro-F1", "margin", ("convex ProbLoss",)),
        ("Macro-F1", "margin, SGD", ("ProbLoss, SGD",)),
        ("Micro-F1", "margin", ("Micro-F1", "convex ProbLoss")),
    ):
        count, score = measures[title]
        found = {}
        for name in (base, *others):
            by_dev = {
                C: float(score(count(problem.dev[1], model.predict(problem.dev[0])).sum(axis=0)))
                for C, (model, _) in models[name].items()
            }
            C = max(by_dev, key=lambda C: by_dev[C])
            model, seconds = models[name][C]
            guess = model.predict(problem.test[0])
            result = model.result_
            note = (
                f"{name}: C = {C:g} (dev {', '.join(f'{c:g}: {v:.4f}' for c, v in by_dev.items())})"
                f", {result.n_iter} passes, {seconds:.0f} CPU s"
                + (f", gap {result.relative_gap:.3f}" if result.is_certified else "")
                + f", {result.n_oracle_calls / (result.n_iter * len(problem.train[0])):.1f} oracle "
                "calls per sentence and pass."
            )
            found[name] = Found(
                C, by_dev[C], seconds, count(problem.test[1], guess),
                chunk_f1(problem.test[1], guess), note,
            )  # fmt: skip
        first = found[base]
        for name in others:
            own = found[name]
            difference = compare(first.counts, own.counts, score)
            ours, theirs = (float(score(each.counts.sum(axis=0))) for each in (own, first))
            yield Line(
                f"{problem.name}, {title}: {name}, beside {base}", ours, theirs, unit="",
                checks=[Check("gain in points", 100 * difference.value, ">", 0.0),
                        Check("p", difference.p, "<=", 0.05)],
                note=f"{difference}. Segment F1 over all types {own.f1:.4f} and {first.f1:.4f}. "
                f"{own.note} {first.note}",
                facts={"gain": difference.value, "error": difference.error, "p": difference.p,
                       "C": own.C, "peer C": first.C, "dev": own.dev, "peer dev": first.dev},
            )  # fmt: skip


def _trained(options: dict[str, Any], C: float, X: Any, y: Any) -> tuple[ChainSVM, float]:
    model = ChainSVM(C=C, **{"max_iter": PASSES, "random_state": 0, **options})
    seconds, model = cpu_seconds(lambda: model.fit(X, y))
    return model, seconds


def segment_counts(y: Any, guess: Any, types: list[str]) -> np.ndarray:
    """Return for each sentence how many segments are right, true and found, type by type."""
    index, counts = {name: k for k, name in enumerate(types)}, np.zeros((len(y), len(types), 3))
    for i, (tags, found) in enumerate(zip(y, guess, strict=True)):
        true, own = (set(tags_to_spans(list(map(str, each)), "iob2")) for each in (tags, found))
        for k, spans in enumerate((true & own, true, own)):
            for span in spans:
                counts[i, index[span[2]], k] += 1
    return counts.reshape(len(y), -1)


def macro_f1(sums: np.ndarray) -> np.ndarray:
    """Return the mean over types of 2 right / (true + found)."""
    right, true, found = np.moveaxis(sums.reshape((*sums.shape[:-1], -1, 3)), -1, 0)
    return np.asarray((2.0 * right / np.maximum(true + found, 1.0)).mean(axis=-1))


def position_f1(y: Any, guess: Any) -> np.ndarray:
    """Return for each sentence the F1 of its positions that are not O, and 1."""
    shares = np.ones((len(y), 2))
    for i, (tags, found) in enumerate(zip(y, guess, strict=True)):
        both = sum(a == b != "O" for a, b in zip(tags, found, strict=True))
        size = sum(tag != "O" for each in (tags, found) for tag in each)
        shares[i, 0] = 2.0 * both / size if size else 1.0
    return shares
