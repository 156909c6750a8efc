"""What slack rescaling costs beside margin rescaling, with all pairs of labels, to a gap of 1%.

At the same C and at smaller ones, and by which solver. C is in units of 1 / mean |x|^2.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness import Line, cpu_seconds
from label_surrogates import SMALL, load, unit
from sklearn.preprocessing import StandardScaler

from maxmargin import MultilabelSVM
from maxmargin.solvers import BlockFrankWolfe, OneSlack

SOLVERS = {
    "bcfw": BlockFrankWolfe(),
    "bcfw, cache 20": BlockFrankWolfe(cache=20),
    "one_slack, inwards": OneSlack(inwards=True),
}

#: Surrogate, C and solver; the first is what the others are beside. Cross-validation of
#: `label_surrogates` chooses C around 1 for margin and around .01 for slack rescaling.
CASES = (
    ("margin", 1.0, "bcfw"),
    ("slack", 0.01, "bcfw"),
    ("slack", 0.1, "bcfw"),
    ("slack", 1.0, "bcfw"),
    ("slack", 1.0, "bcfw, cache 20"),
    ("slack", 1.0, "one_slack, inwards"),
)


def lines() -> Iterator[Line]:
    for name in ("scene", "yeast"):
        yield from beside_margin(name)


def beside_margin(name: str) -> Iterator[Line]:
    X, Y, _, _ = load(name)
    rows, scale = StandardScaler().fit_transform(X), unit(SMALL, X)
    base = None
    for surrogate, C, solver in CASES:
        model = MultilabelSVM(
            C=scale * C, surrogate=surrogate, pairwise="full", tol=0.01, solver=SOLVERS[solver],
            max_iter=1, random_state=0,
        )  # fmt: skip
        cpu_seconds(lambda: model.fit(rows[:50], Y[:50]))  # compiles  # noqa: B023
        model.set_params(max_iter=1000)
        seconds, _ = cpu_seconds(lambda: model.fit(rows, Y))  # noqa: B023
        base = seconds if base is None else base
        result = model.result_
        a_pass = result.n_oracle_calls / result.n_iter / len(Y)
        yield Line(
            f"{name}, all pairs, {surrogate}, C {C:g}, by {solver}: to a gap of 1%, beside margin",
            seconds,
            base,
            note=f"{result.n_iter} passes, {a_pass:.2f} oracle calls for each example and pass, "
            f"{1e6 * seconds / result.n_oracle_calls:.0f} us of all work for each call, gap "
            f"{result.relative_gap:.2%}, {result.status}",
            facts={
                "passes": result.n_iter,
                "calls": result.n_oracle_calls,
                "gap": result.relative_gap,
                "status": result.status,
            },
        )
