"""Parsers learnt in different ways, five seeds each, beside one of their group.

UD English EWT with gold tags, the first 1000 training sentences in 2^18 features (a time-box: all
of them would take an hour), all of dev and test; three passes. Of surrogates, by SGD, C is chosen
on dev with the first seed; learners and spaces of trees have their defaults. Every model is scored
once on test. Seeds shuffle the sentences; a system's result in a sentence is the mean over its five
seeds. Differences are tested by approximate randomisation over test sentences, 2000 draws; the
standard error is the bootstrap's. All words count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from harness import Line, cpu_seconds
from paired import compare

from maxmargin import ParserSVM
from maxmargin.datasets import load_treebank
from maxmargin.surrogates import ProbLoss

N_SENTENCES, SEEDS = 1000, (0, 1, 2, 3, 4)
#: Groups: the first of each is what the others are compared with. What is compared is UAS, or LAS.
SURROGATES = {"margin": "margin", "slack": "slack", "convex ProbLoss": "prob", "log loss": "log",
              "ProbLoss": ProbLoss(convex=False)}  # fmt: skip
GRID = (0.1, 1.0)
SIZE = {"n_hashed_features": 2**18}
GROUPS: dict[str, dict[str, dict[str, Any]]] = {
    "learner": {
        "MIRA": {"max_iter": 3},
        "perceptron": {"solver": "perceptron", "max_iter": 3},
    },
    "trees": {
        "projective": {"max_iter": 3},
        "any tree": {"projective": False, "max_iter": 3},
        "siblings": {"siblings": True, "max_iter": 3},
    },
    "relations": {
        "second stage": {"relations": "second_stage", "max_iter": 3},
        "joint": {"relations": "joint", "cost": "las", "max_iter": 3},
    },
}


class Runs(NamedTuple):
    """What five seeds of one system found: right words, right arcs with relation, and words."""

    counts: np.ndarray  # (n_sentences, 3), means over seeds
    uas: np.ndarray  # of each seed
    las: np.ndarray
    seconds: float
    note: str


def lines() -> Iterator[Line]:
    data = load_treebank("ewt")
    X, y = data.X_train[:N_SENTENCES], data.y_train[:N_SENTENCES]
    heads, dev = ([[head for head, _ in tree] for tree in part] for part in (y, data.y_dev))
    found = {}
    for name, surrogate in SURROGATES.items():
        options = {"surrogate": surrogate, "solver": "sgd", "max_iter": 3, "relations": "none"}
        scores = {}
        for C in GRID:
            model = ParserSVM(**options, **SIZE, C=C, random_state=SEEDS[0])
            cpu_seconds(lambda m=model: m.fit(X, heads))
            scores[C] = model.score(data.X_dev, dev)
        best = max(scores, key=lambda C: scores[C])
        shown = ", ".join(f"{C:g}: {score:.4f}" for C, score in scores.items())
        found[name] = _runs(
            {**options, "C": best}, data, X, heads, f"C = {best:g} by dev ({shown})."
        )
    yield from _table("surrogate, SGD", found, 0)
    for group, members in GROUPS.items():
        has_relations = group == "relations"
        found = {
            name: _runs(
                options if has_relations else {"relations": "none", **options}, data, X,
                y if has_relations else heads, "",
            )
            for name, options in members.items()
        }  # fmt: skip
        yield from _table(group, found, 0)
        if has_relations:
            yield from _table(group, found, 1)


def _runs(options: dict[str, Any], data: Any, X: Any, y: Any, note: str) -> Runs:
    every, total = [], 0.0
    for seed in SEEDS:
        model = ParserSVM(**options, **SIZE, random_state=seed)
        seconds, _ = cpu_seconds(lambda m=model: m.fit(X, y))
        total += seconds
        every.append(_counts(data.y_test, model.predict(data.X_test)))
    sums = np.array([counts.sum(axis=0) for counts in every])
    return Runs(
        np.mean(every, axis=0), sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2],
        total / len(SEEDS), note,
    )  # fmt: skip


def _counts(y: Any, guess: Any) -> np.ndarray:
    counts = np.zeros((len(y), 3))
    for i, (tree, found) in enumerate(zip(y, guess, strict=True)):
        pairs = [arc if isinstance(arc, tuple) else (arc, None) for arc in found]
        counts[i] = (
            sum(a[0] == b[0] for a, b in zip(tree, pairs, strict=True)),
            sum(tuple(a) == tuple(b) for a, b in zip(tree, pairs, strict=True)),
            len(tree),
        )
    return counts


def _table(group: str, found: dict[str, Runs], column: int) -> Iterator[Line]:
    base = next(iter(found))
    title = ("UAS", "LAS")[column]
    for name, own in found.items():
        values = (own.uas, own.las)[column]
        note = own.note
        facts: dict[str, Any] = {"seeds": values.tolist(), "seconds": own.seconds}
        if name != base:
            difference = compare(
                found[base].counts, own.counts, lambda sums: sums[..., column] / sums[..., 2]
            )
            note = f"{difference} beside {base}. {note}"
            facts |= difference._asdict()
        peers = (found[base].uas, found[base].las)[column]
        yield Line(
            f"{group}: {name}, test {title}", float(values.mean()),
            None if name == base else float(peers.mean()), unit="",
            note=f"{note} s.d. of seeds {100 * values.std(ddof=1):.2f} points; "
            f"{own.seconds:.1f} CPU s a fit.",
            facts=facts,
        )  # fmt: skip
