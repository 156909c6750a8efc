"""Inference on factor graphs: known problems by every method.

The problems of the data folder `mrf_instances` (linkage, protein design, satellites, frequencies,
surfaces, a quadratic binary one) are solved by "auto" and by each method that takes them, within
wall-clock limits. Energies are minus scores, so bounds are lower bounds; the method proves its
labelling where the two meet. Seconds are CPU seconds, without reading the file and without
compiling: each method has solved a small graph first.

toulbar2 stands beside "auto" where pytoulbar2 is installed, by its defaults, in a process of its
own, with a limit of CPU time; the energy of its labelling is computed by us.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import Check, Line, cpu_seconds, number
from subprocesses import SOURCE, ask

from maxmargin.datasets import MRF_INSTANCES, load_mrf_instance, make_grid
from maxmargin.datasets.dataset import data_folder, find_file
from maxmargin.inference import FactorGraph, solve_graph
from maxmargin.inference.graph.factors import Table
from maxmargin.inference.graph.public import METHODS

#: Those that "auto" is to prove.
PROVED = ("network.uai", "1aho.cfn", "water.uai", "pedigree1.uai", "GeomSurf-7-gm256.uai",
          "404.wcsp", "celar6sub0.wcsp")  # fmt: skip
#: All other methods; those that do not fit say so.
OTHERS = tuple(method for method in METHODS if method != "auto")
#: Seconds: "auto" where it is to prove, where it is not, every other method, and toulbar2.
LONG, MEDIUM, SHORT, OF_PEER = 240.0, 60.0, 10.0, 10

_PEER = """
import json, sys, time
import pytoulbar2
model = pytoulbar2.CFN(verbose=-1)
if {path!r}.endswith(".qpbo"):
    # Its own reader of this format does not go with the limit of time.
    from maxmargin.datasets import load_mrf_instance
    graph = load_mrf_instance({name!r}).graph
    shape = graph.shape
    for v, size in enumerate(shape.n_labels.tolist()):
        model.AddVariable(str(v), range(size))
        model.AddFunction([str(v)], (-graph.unary[shape.unary_at[v]:][:size]).tolist())
    for f in range(graph.n_factors):
        nodes = shape.members[shape.member_at[f] : shape.member_at[f + 1]]
        table = graph.tables[shape.table_at[f]:][:shape.n_labels[nodes].prod()]
        model.AddFunction([str(v) for v in nodes], (-table).tolist())
else:
    model.Read({path!r})
start = time.process_time()
found = model.Solve(timeLimit={limit})
seconds = time.process_time() - start
labels = None if found is None else list(found[0])
is_exact = found is not None and model.GetDDualBound() >= found[1]
print(json.dumps(dict(seconds=seconds, labels=labels, is_exact=is_exact)))
"""


def lines() -> Iterator[Line]:
    warm_up()
    for name in MRF_INSTANCES:
        yield instance_line(name)


def warm_up() -> None:
    """Compile what will be timed, on graphs that need every method."""
    gauss = make_grid((4, 4), 3, "gauss", random_state=0)
    for method in METHODS:
        measured(gauss, method, 1.0)
    two = make_grid((4, 4), 2, "gauss", strength=3.0, random_state=0)
    for method in ("auto", "roof", "expansion"):
        solve_graph(two, method, time_limit=1.0)
    path = FactorGraph(np.zeros((3, 3)), [(0, 1), (1, 2)], np.eye(3))
    for method in ("forest", "acyclic"):
        solve_graph(path, method)
    solve_graph(make_grid((4, 4), 2), "cut")
    three = Table((0, 1, 2), np.random.default_rng(0).normal(size=(2, 2, 2)))
    solve_graph(FactorGraph(np.zeros((3, 2)), factors=[three]), "srmp", max_iter=2)


def instance_line(name: str) -> Line:
    """One problem by all methods, beside toulbar2."""
    one = load_mrf_instance(name)
    is_goal = name in PROVED
    found = {"auto": measured(one.graph, "auto", LONG if is_goal else MEDIUM)}
    for method in OTHERS:
        found[method] = measured(one.graph, method, SHORT)
    peer = toulbar(name, one.graph)
    best, energy = found["auto"], one.energy
    # The energies on record are rounded.
    off = (best["energy"] - energy) / (1.0 + abs(energy)) if best["energy"] < np.inf else np.inf
    checks = [Check("bound above the best known", best["bound"] - energy, "<=", 1e-3)]
    if is_goal:
        checks.append(Check("proved", float(best["is_exact"]), "==", 1.0))
        checks.append(Check("energy off the optimum", abs(off), "<=", 1e-4))
    said = "; ".join(f"{method} {spelled(row)}" for method, row in found.items())
    return Line(
        f"{name}: CPU seconds of auto, beside toulbar2",
        best["seconds"],
        None if peer is None else peer["seconds"],
        checks=checks,
        note=f"{one.graph.n_nodes} nodes, {one.graph.n_factors} factors, best known energy "
        f"{energy:g}. Lower bound, energy, CPU seconds: {said}. {said_of_peer(peer)}",
        facts={"known": energy, "methods": found, "toulbar2": peer},
    )


def measured(graph: FactorGraph, method: str, limit: float) -> dict[str, Any]:
    """Return energy, lower bound, CPU seconds and proof of a method; why, where it does not fit."""
    try:
        seconds, found = cpu_seconds(lambda: solve_graph(graph, method, time_limit=limit))
    except ValueError as error:
        return {"refused": str(error), "energy": np.inf, "bound": -np.inf}
    return {
        "energy": -found.score,
        "bound": -found.bound,
        "seconds": seconds,
        "is_exact": found.is_exact,
        "by": found.method,
        "n_iterations": found.n_iterations,
    }


def spelled(row: dict[str, Any]) -> str:
    if "refused" in row:
        return "does not fit"
    bound = "none" if row["bound"] == -np.inf else f"{row['bound']:.6g}"
    energy = "none" if row["energy"] == np.inf else f"{row['energy']:.6g}"
    proof = f" (proved, {row['by']})" if row["is_exact"] else ""
    return f"{bound}, {energy}, {number(row['seconds'])}{proof}"


def said_of_peer(peer: dict[str, Any] | None) -> str:
    if peer is None:
        return "pytoulbar2 is not installed."
    energy = "none" if peer["energy"] == np.inf else f"{peer['energy']:.6g}"
    end = "proved" if peer["is_exact"] else f"not proved in {OF_PEER} s"
    return f"toulbar2: {energy}, {end}."


def toulbar(name: str, graph: FactorGraph) -> dict[str, Any] | None:
    """Return what toulbar2 found within its limit, or None where it is not installed."""
    spec = importlib.util.find_spec("pytoulbar2")
    if spec is None or spec.origin is None:
        return None
    path = find_file(data_folder("mrf_instances", None), name)
    with tempfile.TemporaryDirectory() as folder:
        content = path.read_bytes()
        if content.startswith(b"BAYES"):
            # It would normalise the tables of a Bayesian network, and so solve another problem.
            path = Path(folder) / path.name
            path.write_bytes(content.replace(b"BAYES", b"MARKOV", 1))
        code = _PEER.format(path=str(path), name=name, limit=OF_PEER)
        found = ask(code, SOURCE, Path(spec.origin).parents[1])
    labels = found.pop("labels")
    found["energy"] = np.inf if labels is None else -graph.score(labels)
    return found
