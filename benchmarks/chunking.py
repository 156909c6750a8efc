"""Chunking of CoNLL-2000 with the "chunking" templates, beside CRFsuite.

Both get the same lists of about 20 binary features a token. Ours is timed as the whole of `fit`,
looking features up in a growing vocabulary included; CRFsuite without reading its data, which the
note gives. Chunk F1 is on the test part, at which nothing was chosen: see `choose`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Check, Line, cpu_seconds
from peers import train_crf
from sklearn.base import clone

from maxmargin import ChainSVM
from maxmargin.datasets import load_conll2000
from maxmargin.io import FeatureTemplate
from maxmargin.metrics import chunk_f1, token_accuracy
from maxmargin.solvers import BlockFrankWolfe, Perceptron

#: The highest F1 among the 15 `candidates` on a fifth of the training sentences: .9354. One such
#: fifth cannot tell the best ones apart (C = 0.3: .9353, C = 0.1: .9349, with cache .9349).
CHOSEN = "bcfw without cache, C = 0.2, 15 passes"
#: The best of those that take a third of its time: .9347.
SOONEST = "averaged perceptron, 15 passes"


def candidates() -> dict[str, ChainSVM]:
    """Return the machines that were compared, by name."""
    found = {
        f"averaged perceptron, {passes} passes": ChainSVM(solver=Perceptron(), max_iter=passes)
        for passes in (5, 10, 15, 30)
    }
    for C in (0.03, 0.1, 0.2, 0.3):
        for solver, name in ((BlockFrankWolfe(), "bcfw"), (uncached(), "bcfw without cache")):
            machine = ChainSVM(C=C, solver=solver, max_iter=15, tol=1e-3)
            found[f"{name}, C = {C}, 15 passes"] = machine
    for C in (0.1, 0.3, 1.0):
        found[f"sgd, C = {C}, 10 passes"] = ChainSVM(C=C, solver="sgd", max_iter=10)
    return {name: machine.set_params(random_state=0) for name, machine in found.items()}


def uncached() -> BlockFrankWolfe:
    return BlockFrankWolfe(cache=0)


def lines() -> Iterator[Line]:
    X, Y, X_test, Y_test = features()
    run = train_crf("lbfgs", {"c2": 1.0}, X, Y, X_test)
    theirs = chunk_f1(Y_test, run.predicted)
    crf = (
        f"CRFsuite: lbfgs, c2 = 1, {run.n_iter} iterations, token accuracy "
        f"{token_accuracy(Y_test, run.predicted):.4f}, chunk F1 {theirs:.4f}, and "
        f"{run.reading:.1f} s to read its data."
    )
    for name in (CHOSEN, SOONEST):
        machine = candidates()[name]
        cpu_seconds(lambda m=machine: clone(m).set_params(max_iter=1).fit(X[:20], Y[:20]))
        ours, machine = cpu_seconds(lambda m=machine: m.fit(X, Y))
        predicted = machine.predict(X_test)
        f1, result = chunk_f1(Y_test, predicted), machine.result_
        gap = f", relative gap {result.relative_gap:.1%}" if result.is_certified else ""
        yield Line(
            f"conll2000: {name}, beside CRFsuite lbfgs",
            ours,
            run.seconds,
            checks=[
                Check("ratio", ours / run.seconds, "<=", 0.25),
                Check(f"chunk F1 {f1:.4f} less CRFsuite's", f1 - theirs, ">=", 0.0),
            ],
            note=f"{len(result.w)} weights, {result.n_iter} passes{gap}, token accuracy "
            f"{token_accuracy(Y_test, predicted):.4f}, chunk F1 {f1:.4f}, {result.seconds:.1f} "
            f"wall seconds in the solver. {crf}",
            facts={"f1": f1, "crfsuite f1": theirs, "reading": run.reading},
        )


def features() -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    data = load_conll2000()
    template = FeatureTemplate.parse("chunking", columns=data.extra["columns"])
    X, X_test = template.transform(data.X_train), template.transform(data.X_test)
    return X, data.y_train, X_test, data.y_test


def choose() -> dict[str, tuple[float, float]]:
    """Return CPU seconds and chunk F1 of all candidates on a fifth of the training sentences.

    About four minutes. The test part is not looked at.
    """
    X, Y, _, _ = features()
    is_held = np.random.default_rng(0).random(len(X)) < 0.2
    (X_fit, X_held), (Y_fit, Y_held) = (
        [
            [item for item, held in zip(items, is_held, strict=True) if held == flag]
            for flag in (0, 1)
        ]
        for items in (X, Y)
    )
    found = {}
    for name, machine in candidates().items():
        seconds, machine = cpu_seconds(lambda m=machine: m.fit(X_fit, Y_fit))
        found[name] = (seconds, chunk_f1(Y_held, machine.predict(X_held)))
    return found
