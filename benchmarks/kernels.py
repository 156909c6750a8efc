"""A kernel beside its approximations: letters, by the number of training rows.

MulticlassSVM with the Gaussian kernel, beside Nystroem and random Fourier features of scikit-learn
before a linear MulticlassSVM; C = 10 and tol = 1% throughout. Seconds are CPU seconds
of fit and predict, compiled before the clock starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Line, cpu_seconds
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import MulticlassSVM
from maxmargin.datasets import load_letter

SIZES = (500, 2000)
GAMMA, N_TEST = 1.0 / 16, 4000


def lines() -> Iterator[Line]:
    data = load_letter()
    order = np.random.default_rng(0).permutation(data.X_train.shape[0])
    X = StandardScaler().fit_transform(data.X_train[order])
    y = np.asarray(data.y_train)[order]
    test = slice(len(y) - N_TEST, len(y))
    shared: dict[str, Any] = {"C": 10.0, "tol": 0.01, "random_state": 0}
    for n in SIZES:
        exact = MulticlassSVM(kernel="rbf", **shared)
        models = {
            "linear": MulticlassSVM(**shared),
            "Nystroem, 300": _before(Nystroem(gamma=GAMMA, n_components=300), shared),
            "Nystroem, 1000": _before(Nystroem(gamma=GAMMA, n_components=1000), shared),
            "random features, 1000": _before(RBFSampler(gamma=GAMMA, n_components=1000), shared),
        }
        exact.fit(X[:60], y[:60])
        ours = _measure(exact, X[:n], y[:n], X[test], y[test])
        yield _line("Gaussian kernel, exact", n, ours, None)
        for name, model in models.items():
            if name.startswith("Nystroem") and int(name.split()[-1]) > n:
                continue
            model.fit(X[:400], y[:400]) if name == "linear" else None
            yield _line(name, n, _measure(model, X[:n], y[:n], X[test], y[test]), ours)


def _before(features: Any, shared: dict[str, Any]) -> Any:
    return make_pipeline(features.set_params(random_state=0), MulticlassSVM(**shared))


def _measure(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, Any]:
    fit, _ = cpu_seconds(lambda: model.fit(X, y))
    seconds, guess = cpu_seconds(lambda: model.predict(X_test))
    last = model[-1] if isinstance(model, Pipeline) else model
    kernel = getattr(last, "kernel_", None)
    return {
        "accuracy": float(np.mean(guess == y_test)),
        "fit": fit,
        "predict": seconds,
        "gap": last.result_.relative_gap,
        "support": None if kernel is None else len(kernel),
    }


def _line(name: str, n: int, own: dict[str, Any], exact: dict[str, Any] | None) -> Line:
    support = "" if own["support"] is None else f", {own['support']} support rows"
    return Line(
        f"{name}, {n} letters: test accuracy, beside the exact kernel",
        own["accuracy"],
        None if exact is None else exact["accuracy"],
        unit="",
        note=f"Fit {own['fit']:.2f} s, predict {own['predict']:.2f} s; gap {own['gap']:.2g}"
        f"{support}.",
        facts={"name": name, "n": n, **own},
    )
