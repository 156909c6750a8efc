"""Parsers with a certificate: bcfw on all of UD English EWT, all hashed features, to a gap of 1%.

Gold tags, projective trees, first order, no relations, 2^22 features; sentences whose trees cross
are left out. C = 1/n is lam = 1; C = .02 is the cap on steps with which MIRA does best. A run ends
at 1%, or after BUDGET wall seconds of the solver.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness import Check, Line, cpu_seconds

from maxmargin import ParserSVM
from maxmargin.datasets import load_treebank

BUDGET = 1200.0


def lines() -> Iterator[Line]:
    data = load_treebank("ewt")
    heads, dev = (
        [[head for head, _ in tree] for tree in part] for part in (data.y_train, data.y_dev)
    )
    options = {"solver": "bcfw", "relations": "none", "random_state": 0}
    cpu_seconds(lambda: ParserSVM(**options, max_iter=3).fit(data.X_train[:40], heads[:40]))
    for name, C in (("1/n", 1.0 / len(heads)), ("0.02", 0.02)):
        model = ParserSVM(**options, C=C, max_iter=1000, tol=0.01, time_budget=BUDGET)
        seconds, _ = cpu_seconds(lambda m=model: m.fit(data.X_train, heads))
        result = model.result_
        course = ", ".join(
            f"{record.pass_}: {record.gap / record.primal:.3f}"
            for record in result.history if record.gap == record.gap
        )  # fmt: skip
        yield Line(
            f"bcfw on all sentences, C = {name}: CPU seconds to a gap of 1%", seconds, None,
            checks=[Check("gap", result.relative_gap, "<=", 0.01)],
            note=f"{result.status} after {result.n_iter} passes, "
            f"{result.n_iter * (len(heads) - model.n_outside_) / seconds:.0f} sentences/s with "
            f"certificates, primal {result.primal:.4f}, dual "
            f"{result.dual:.4f}; dev UAS {model.score(data.X_dev, dev):.4f}; "
            f"{model.n_outside_} sentences outside. Relative gap after passes: {course}.",
            facts={"C": C, "gap": result.relative_gap, "passes": result.n_iter,
                   "primal": result.primal, "dual": result.dual},
        )  # fmt: skip
