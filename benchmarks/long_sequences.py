"""Long sequences: two passes of block steps beside the cutting plane, and how large they grow.

One drawn sequence of 10 labels with 10 features per position, dense or as CSR with 3 names per
position. Each run has a process of its own: CPU seconds of `fit` and of `predict`, compiled before
the clock starts, and the largest memory of the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness import Check, Line
from subprocesses import ask

#: Positions of the one sequence; the last is the one whose memory is limited.
LENGTHS = (2_000, 20_000, 200_000, 1_000_000)
LIMIT_GB = 2.0

CODE = """
import json, resource, time, warnings
import numpy as np, scipy.sparse as sp
from maxmargin import ChainSVM
warnings.simplefilter("ignore")

def draw(n, kind, K=10, d=10):
    rng = np.random.default_rng(0)
    y = (np.cumsum(rng.random(n) < 0.3) + rng.integers(2, size=n)) % K
    if kind == "dense":
        X = rng.normal(size=(n, d))
        X[np.arange(n), y % d] += 1.0
        return X, y
    names = np.stack([y * 7 + rng.integers(20, size=n), 100 + rng.integers(5000, size=n),
                      5100 + y * 2 + rng.integers(9, size=n)], axis=1).astype(np.int32)
    ends = np.arange(0, 3 * n + 1, 3)
    return sp.csr_matrix((np.ones(3 * n), names.ravel(), ends), shape=(n, 5200)), y

def train(n, kind, solver):
    X, y = draw(n, kind)
    model = ChainSVM(C=1.0 / n, solver=solver, max_iter=2, tol=0.0, random_state=0)
    begin = time.process_time()
    model.fit([X], [y])
    middle = time.process_time()
    model.predict([X])
    return model.result_, middle - begin, time.process_time() - middle

kind, solver, n = {kind!r}, {solver!r}, {n}
train(200, kind, solver)
result, fit, predict = train(n, kind, solver)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps(dict(fit=fit, predict=predict, peak=peak, gap=result.relative_gap,
                      status=result.status, passes=result.n_iter)))
"""


def lines() -> Iterator[Line]:
    for kind in ("dense", "sparse"):
        for n in LENGTHS:
            ours, theirs = (measure(kind, solver, n) for solver in ("bcfw", "one_slack"))
            checks = []
            if n == LENGTHS[-1]:
                checks.append(Check("peak GB", ours["peak"], "<=", LIMIT_GB))
            yield Line(
                f"one {kind} sequence of {n} positions: two passes of bcfw, beside one_slack",
                ours["fit"],
                theirs["fit"],
                checks=checks,
                note=f"Peak {ours['peak']:.2f} GB (one_slack {theirs['peak']:.2f}), predict "
                f"{ours['predict']:.2g} s; gap {ours['gap']:.3g} (one_slack {theirs['gap']:.3g}).",
                facts={"bcfw": ours, "one_slack": theirs},
            )


def measure(kind: str, solver: str, n: int) -> dict[str, Any]:
    code = CODE
    for name, value in (("{kind!r}", repr(kind)), ("{solver!r}", repr(solver)), ("{n}", str(n))):
        code = code.replace(name, value)
    return ask(code)
