"""How much memory training takes: the large split of the words, in a fresh process.

The peak of resident memory (VmHWM) is reset by writing 5 to /proc/self/clear_refs, after importing
and compiling, so that it is of training alone. Memory that the compiler has freed is given back to
the system first, else training could hide in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness import Check, Line
from subprocesses import ask

_CODE = """
import ctypes, gc, json, warnings
warnings.simplefilter("ignore")
import scipy.sparse as sp
from maxmargin import ChainSVM
from maxmargin.datasets import load_ocr

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))

def give_back():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)

def reset():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

def load(split):
    data = load_ocr(split)
    X = [sp.csr_matrix(word) for word in data.X_train] if {is_sparse} else data.X_train
    return X, data.y_train

X, Y = load("small")
ChainSVM(max_iter=1, solver={solver!r}).fit(X, Y)
del X, Y
give_back()
empty = status("VmRSS")
X, Y = load("large")
give_back()
loaded = status("VmRSS")
reset()
tagger = ChainSVM(max_iter={passes}, tol=0.01, solver={solver!r}, random_state=0).fit(X, Y)
peak = status("VmHWM")
result = tagger.result_
print(json.dumps(dict(
    empty=empty, loaded=loaded, peak=peak, passes=result.n_iter, gap=result.relative_gap,
    weights=len(result.w), examples=len(X), positions=sum(x.shape[0] for x in X),
)))
"""
_SOLVERS = {"bcfw": 1000, "one_slack": 40, "n_slack": 5, "sgd": 5, "perceptron": 5}


def lines() -> Iterator[Line]:
    if not Path("/proc/self/clear_refs").exists():
        raise RuntimeError("Peak memory is read from /proc, which this system does not have.")
    for solver, passes in _SOLVERS.items():
        yield growth(solver, passes, is_sparse=False)
    yield growth("bcfw", _SOLVERS["bcfw"], is_sparse=True)


def growth(solver: str, passes: int, is_sparse: bool) -> Line:
    seen = ask(_CODE.format(solver=solver, passes=passes, is_sparse=is_sparse))
    ours = seen["peak"] - seen["loaded"]
    with_data = seen["peak"] - seen["empty"]
    dense = seen["examples"] * seen["weights"] * 8 / 2**20
    kind = "CSR" if is_sparse else "dense"
    gap = "" if seen["gap"] is None or seen["gap"] != seen["gap"] else f", gap {seen['gap']:.2%}"
    return Line(
        f"words, large split, {kind}: memory that {solver} adds (peer: the n x d array)",
        ours,
        dense,
        unit="MB",
        checks=[
            Check("MB added", ours, "<", 250.0),
            Check("with the data", with_data, "<", 250.0),
        ],
        note=f"{seen['passes']} passes{gap}. Resident before the data {seen['empty']:.0f} MB, with "
        f"them {seen['loaded']:.0f} MB, peak while training {seen['peak']:.0f} MB.",
        facts=seen,
    )
