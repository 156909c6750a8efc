"""Very many labels without dense weights: 5000 leaves, 34 600 sparse features, 45 000 examples.

This is a tenth of the shape of SWIKI. Each line is a fresh process. Time is that of the run itself,
certificates included; memory is the peak that training adds to what was resident before it, and is
compared with what a dense matrix of weights alone would take.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness import Check, Line
from subprocesses import ask

_CODE = """
import json, resource, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from maxmargin import HierarchySVM
from maxmargin.datasets import make_deep_tree
from maxmargin.solvers import SparseSDCA

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

data = make_deep_tree({n}, 1000, n_leaves={n_leaves}, n_features={n_features})
model = HierarchySVM(
    C={C}, cost="zero_one", solver=SparseSDCA(beam={beam}), tol=0.01, max_iter=1, random_state=0
)
model.fit(data.X_train[:50], data.y_train[:50])  # compiles
before = resident()
passes, start = [], time.process_time()

def note(event):
    w = event.w
    passes.append({{
        "cpu": time.process_time() - start, "primal": event.record.primal,
        "dual": event.record.dual, "gap": event.record.gap / event.record.primal,
        "stored": w.n_stored, "megabytes": w.n_bytes / 2**20, "dense_rows": int(w.rows.used[1]),
    }})

model.set_params(max_iter={passes})
start = time.process_time()
model.fit(data.X_train, data.y_train, callbacks=[note])
cpu = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
result, n_nodes = model.result_, len(model.nodes_)
accuracy = model.score(data.X_test, data.y_test)
print(json.dumps({{
    "cpu": cpu, "calls": result.n_oracle_calls, "gap": result.relative_gap, "nodes": n_nodes,
    "megabytes": peak - before, "passes": passes, "accuracy": accuracy,
    "dense": 8 * n_nodes * (data.X_train.shape[1] + 1) / 2**20,
    "words": data.X_train.nnz / data.X_train.shape[0],
}}))
"""

#: Examples, leaves, features, beam, C, passes.
CASES = (
    (45000, 5000, 34600, 10, 1.0, 3),
    (8000, 5000, 34600, 10, 1.0, 4),
)


def lines() -> Iterator[Line]:
    for n, n_leaves, n_features, beam, C, n_passes in CASES:
        found = ask(
            _CODE.format(
                n=n, n_leaves=n_leaves, n_features=n_features, beam=beam, C=C, passes=n_passes
            )
        )
        last = found["passes"][-1]
        gaps = ", ".join(f"{each['gap']:.3f}" for each in found["passes"])
        yield Line(
            f"{n} examples, {n_leaves} leaves, beam {beam or 'none'}: a visit",
            1e6 * found["cpu"] / found["calls"],
            unit="us",
            checks=[Check("megabytes of a dense W", found["megabytes"], "<=", found["dense"])],
            note=(
                f"{found['nodes']} nodes, {found['words']:.0f} words per example; {n_passes} "
                f"passes in {found['cpu']:.0f} CPU s, relative gap after each {gaps}; "
                f"{last['stored'] / 1e6:.1f} M weights stored, {last['dense_rows']} dense rows, "
                f"{last['megabytes']:.0f} MB; training adds {found['megabytes']:.0f} MB, a dense W "
                f"alone has {found['dense']:.0f}; test accuracy {found['accuracy']:.3f}"
            ),
            facts=found,
        )
