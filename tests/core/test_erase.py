"""Types erased at the boundary of a problem: words, entries, callbacks, lifetimes, exceptions."""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
import warnings
import weakref
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError
from sklearn.exceptions import ConvergenceWarning

from maxmargin.core import contract
from maxmargin.core.contract import (
    belongs,
    implements,
    margin_error,
    maximize,
    output_cost,
    output_size,
    output_sizes,
    potentials,
    truths,
)
from maxmargin.core.dispatch import implementation, second_types
from maxmargin.core.erase import Pass, entries_of
from maxmargin.core.erase.anything import AnyCost, AnyData, AnyTheta
from maxmargin.core.erase.entries import ENTRIES, Entry, OracleEntry, pass_entry
from maxmargin.core.erase.uses import used_entries
from maxmargin.core.erase.words import Packed
from maxmargin.core.modes import choose_mode
from maxmargin.core.problem import Problem, evaluate
from maxmargin.features import Dense
from maxmargin.search.direct import Direct
from maxmargin.search.hull.rooms import HullThenProfile
from maxmargin.solvers import BlockFrankWolfe, run
from maxmargin.solvers.blocks.visits import visit_blocks
from maxmargin.structures import ProgramLabels
from maxmargin.structures.labels.program import LabelPrograms
from maxmargin.surrogates import MarginRescaling
from maxmargin.testing import tiny_problem
from tests.grades import Distance, Grades, GradesData, GradesPotentials

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is erased where nothing is compiled"
)

MARGIN, DIRECT = MarginRescaling().compiled(), Direct(1.0, 1.0)


class Inner(NamedTuple):
    values: Any
    scale: float


class Outer(NamedTuple):
    inner: Inner
    turned: Any
    every_other: Any
    small: Any
    flag: bool
    count: int


def gather(outer, more, out):
    """out receives something of every field."""
    out[0] = outer.inner.values[1, 2] * outer.inner.scale
    out[1] = outer.turned[1, 2]
    out[2] = outer.every_other[2]
    out[3] = outer.small[1]
    out[4] = 1.0 if outer.flag else 0.0
    out[5] = outer.count - more
    return outer.inner.values.shape[1]


def test_all_kinds_of_fields_are_packed_and_fetched():
    values = np.arange(12.0).reshape(3, 4)
    outer = Outer(
        Inner(values, 0.5), np.asfortranarray(values), np.arange(9)[::2],
        np.array([1.5, 2.5], dtype=np.float32), True, -7,
    )  # fmt: skip
    fast, slow = np.zeros((2, 6))
    assert Pass(gather)(outer, 3, fast) == gather(outer, 3, slow) == 4
    assert np.array_equal(fast, slow)


def test_an_entry_has_one_name_for_one_type():
    view = tiny_problem("chain").view
    again = tiny_problem("chain", seed=1).view
    symbols = [
        [entry.symbol(kinds) for entry, kinds in entries_of(each.data, each.cost)]
        for each in (view, again)
    ]
    assert symbols[0] == symbols[1] and len(set(symbols[0])) == len(symbols[0])


def test_only_what_reads_features_is_compiled_for_each_type_of_features():
    def symbols(features):
        view = tiny_problem("chain", features=features).view
        found = entries_of(view.data, view.cost)
        return {entry.function.__name__: entry.symbol(kinds) for entry, kinds in found}

    dense, sparse = symbols("dense"), symbols("csr")
    assert {name for name in dense if dense[name] != sparse[name]} == {
        "potentials",
        "add_difference",
        "difference_potentials",
        "add_parts",
        "parts_square",
    }


def test_functions_of_differences_are_entries_only_where_they_are_written_out():
    def names(structure):
        view = tiny_problem(structure).view
        return {entry.function.__name__ for entry, _ in entries_of(view.data, view.cost)}

    some = {"difference_potentials", "clear_difference", "add_differences"}
    assert names("chain") & some == {"difference_potentials"}
    assert names("graph_forest") & some == {"clear_difference"}
    assert names("graph") & some == {"clear_difference", "add_differences"}
    assert not names("ranking") & some


class Seen(NamedTuple):
    """A user's structure, whose oracle reads what ours do not."""

    features: Any


@implements(output_sizes, Seen)
def _output_sizes(data):
    return np.ones(1, dtype=np.int64)


@implements(truths, Seen)
def _truths(data):
    return np.zeros(1, dtype=np.int32)


@implements(contract.workspace, Seen)
def _workspace(data):
    return GradesPotentials(np.zeros(1)), GradesPotentials(np.zeros(1))


@implements(maximize, Seen, Distance)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    outputs[at] = contract.row_product(data.features, i, i) > 1.0


def test_a_user_s_oracle_may_read_features():
    found = entries_of(Seen(Dense(np.eye(1))), Distance(np.ones(1)))
    ((entry, kinds),) = [each for each in found if each[0].function is maximize]
    assert "Dense" in str(kinds)
    assert entry.address(kinds) != 0


def test_a_declaration_with_an_argument_of_no_known_kind_is_refused():
    def declared(data, surprise):
        """Do nothing."""

    with pytest.raises(TypeError, match="surprise"):
        OracleEntry(declared, numba.types.none, (), 0)
    with pytest.raises(TypeError, match="nothing_such"):
        OracleEntry(potentials, numba.types.none, ("nothing_such",), 0)


@pytest.mark.parametrize("outputs", [np.zeros(3), np.zeros(3, dtype=np.int32)[::2]])
def test_a_call_with_an_array_of_another_type_is_not_compiled(outputs):
    def ask(data, theta, outputs):
        return margin_error(data, 0, theta, outputs, 0)

    with pytest.raises(TypingError, match=r"The entry 'margin_error' takes .* as 'outputs'"):
        numba.njit(ask)(AnyData(0, 0, 0, np.int32(0)), AnyTheta(0), outputs)


def test_an_entry_that_is_missing_is_an_error():
    def ask(data, cost, outputs):
        return output_cost(data, cost, 0, outputs, 0)

    table = np.zeros(len(ENTRIES), dtype=np.int64)
    data = AnyData(0, table.ctypes.data, 0, np.int32(0))
    with pytest.raises(RuntimeError, match="'output_cost' is not in the table"):
        numba.njit(ask)(data, AnyCost(0, table.ctypes.data), np.zeros(1, dtype=np.int32))


def test_the_entries_that_a_pass_uses_are_known_before_it_is_compiled():
    assert used_entries(evaluate) == {contract.potentials, contract.find}
    assert {contract.add_difference, contract.shift} <= used_entries(visit_blocks)
    found = contract.find.implementations[HullThenProfile,]
    names = {function.__name__ for function in used_entries(found, HullThenProfile)}
    assert {"maximize_bounded", "profile_up_to", "profile_output", "mix"} <= names
    assert "k_best" not in names


def counting(values, total):
    extra = np.empty(values.shape[0])  # allocates
    for k in range(values.shape[0]):
        extra[k] = 2.0 * values[k]
    for k in range(values.shape[0]):
        total[0] += extra[k]


def test_code_that_allocates_runs():
    total = np.zeros(1)
    Pass(counting)(np.arange(4.0), total)
    assert total[0] == 12.0


# -- a user's structure --------------------------------------------------------------------------


class Fussy(NamedTuple):
    """A cost whose oracle refuses some examples."""

    price: Any


@implements(maximize, GradesData, Fussy)
def _maximize(data, cost, i, theta, room, score_scale, cost_scale, outputs, at):
    if cost.price[i] < 0.0:
        raise ZeroDivisionError("a price below 0")
    outputs[at] = data.n_grades - 1


@implements(output_cost, GradesData, Fussy)
def _output_cost(data, cost, i, outputs, at):
    return cost.price[i] * abs(outputs[at] - data.grades[i])


def grades(cost, mode, n=5, **options):
    rng = np.random.default_rng(0)
    data = Grades("abc").data(rng.normal(size=(n, 2)), rng.choice(list("abc"), n))
    return Problem(data, cost, MARGIN, n, 0.1, search=DIRECT, mode=mode, **options)


def solved(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run(problem, BlockFrankWolfe(), rng=np.random.default_rng(0), max_iter=4, tol=0.0)[0]


def test_a_users_structure_runs_the_same_in_every_mode():
    found = [
        solved(grades(Distance(np.ones(5)), mode)).w.tobytes()
        for mode in ("erased", "typed", "python")
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("mode", ["erased", "typed", "python"])
def test_what_an_oracle_raises_comes_out_as_itself(mode):
    problem = grades(Fussy(np.array([1.0, 1.0, -1.0, 1.0, 1.0])), mode)
    with pytest.raises(ZeroDivisionError, match="a price below 0"):
        problem.losses(np.zeros(problem.n_weights))
    problem.view.cost.price[:] = 1.0
    losses, _ = problem.losses(np.zeros(problem.n_weights))
    assert np.isfinite(losses).all()


def test_nothing_outlives_its_problem():
    gc.disable()  # there are no cycles: a second fit must not find the data of the first in memory
    try:
        problem = grades(Distance(np.ones(5)), "erased")
        w = solved(problem).w
        problem.losses(w)
        refs = [weakref.ref(each) for each in (problem, problem.view.data.X, problem.desk().y)]
        refs.append(weakref.ref(problem._boundary))
        del problem
        assert [ref() for ref in refs] == [None] * 4
    finally:
        gc.enable()


def test_a_pass_outlives_its_problem():
    problem = grades(Distance(np.ones(5)), "erased")
    w, view, desk = np.ones(problem.n_weights), problem.view, problem.desk()
    expected, _ = problem.losses(w)
    evaluate_all = problem.bind(evaluate)
    boundary = weakref.ref(problem._boundary)
    del problem
    gc.collect()
    assert boundary() is not None  # the pass keeps what its addresses lead to
    losses, bounds = np.zeros((2, 5))
    evaluate_all(view, 0, 5, w, desk, losses, bounds)
    assert np.array_equal(losses, expected)


def test_many_problems_leave_nothing_behind():
    def count():
        gc.collect()
        return sum(type(each) is Packed for each in gc.get_objects()), len(
            pass_entry(evaluate).known
        )

    def train():
        problem = grades(Distance(np.ones(5)), "erased")
        problem.losses(np.zeros(problem.n_weights))

    train()
    before = count()
    for _ in range(20):
        train()
    assert count() == before


def test_a_problem_is_pickled_without_its_addresses():
    problem = grades(Distance(np.ones(5)), "erased")
    w = np.arange(float(problem.n_weights))
    expected = problem.losses(w)[0]
    there = pickle.loads(pickle.dumps(problem))
    assert there._boundary is None and not there._passes and there.mode == "erased"
    assert np.array_equal(there.losses(w)[0], expected)


def test_a_problem_with_another_lam_shares_the_boundary():
    problem = grades(Distance(np.ones(5)), "erased")
    other = problem.with_lam(0.01)
    w = np.arange(float(problem.n_weights))
    assert np.array_equal(problem.losses(w)[0], other.losses(w)[0])


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("maxmargin.core.workers.CHUNK", 2)
    w = np.linspace(-1.0, 1.0, 4)
    one, three = (
        grades(Distance(np.ones(40)), "erased", 40, n_jobs=n_jobs).losses(w)[0] for n_jobs in (1, 3)
    )
    assert np.array_equal(one, three)


# -- modes ---------------------------------------------------------------------------------------


class Named(NamedTuple):
    name: str


def test_the_mode_and_its_reason_are_told(monkeypatch):
    cells = np.dtype(np.int32)
    assert choose_mode("erased", {"data": (1,)}, cells) == ("erased", "")
    with pytest.raises(ValueError, match="mode must be one of"):
        choose_mode("fast", {}, cells)
    with pytest.raises(TypeError, match=r"data\.name is unicode_type"):
        choose_mode("erased", {"data": Named("a")}, cells)
    with pytest.raises(TypeError, match="search is an object"):
        choose_mode("erased", {"search": object()}, cells)
    with pytest.raises(TypeError, match="cells of outputs are objects"):
        choose_mode("erased", {"data": (1,)}, np.dtype(object))
    monkeypatch.setenv("MAXMARGIN_MODE", "erased")
    mode, reason = choose_mode(None, {"data": Named("a")}, cells)
    assert mode == "typed" and "data.name" in reason
    problem = tiny_problem("user")
    assert problem.mode == "python" and "object" in problem.why_not_erased
    assert not problem.is_compiled


# -- callbacks -----------------------------------------------------------------------------------


@belongs(LabelPrograms)
class Refusing(ProgramLabels):
    """Label sets by HiGHS whose oracle fails for one example."""

    def solve(self, i, unary, pair, **options):
        if i == 1:
            raise KeyError(f"no answer for {i}")
        return super().solve(i, unary, pair, **options)


for _function in (
    potentials, margin_error, output_size, output_sizes, truths,
    contract.n_weights, contract.workspace, contract.add_difference,
    contract.difference_potentials, contract.score_lengths, contract.true_parts,
):  # fmt: skip
    implements(_function, Refusing)(implementation(_function, ProgramLabels))
for _function in (maximize, contract.maximize_bounded, output_cost, contract.shift):
    for _kind in second_types(_function, ProgramLabels):
        implements(_function, Refusing, _kind)(implementation(_function, ProgramLabels, _kind))


def test_a_structure_in_python_is_called_back():
    found = []
    for mode in ("erased", "python"):
        problem = tiny_problem("multilabel_program", mode=mode)
        assert problem.mode == mode and problem.calls_python
        found.append(solved(problem))
    assert found[0].w.tobytes() == found[1].w.tobytes()
    assert found[0].primal == found[1].primal


def test_what_a_callback_raises_comes_out_as_itself():
    tiny = tiny_problem("multilabel_program")
    data = Refusing(tiny.view.data.X, tiny.view.data.labels)
    problem = Problem(data, tiny.view.cost, MARGIN, 4, 0.1, search=DIRECT, mode="erased")
    ref = weakref.ref(data)
    with pytest.raises(KeyError, match="no answer for 1"):
        problem.losses(np.ones(problem.n_weights))
    del data, problem
    gc.collect()
    assert ref() is None


# -- the cache -----------------------------------------------------------------------------------

_SCRIPT = """
import json, sys
import numpy as np
from maxmargin.core.news import compiling_watched
from maxmargin.testing import tiny_problem
with compiling_watched() as watch:
    problem = tiny_problem("multiclass", mode="erased")
    losses = problem.losses(np.linspace(-1.0, 1.0, problem.n_weights))[0]
json.dump([watch.compiled, losses.tolist()], sys.stdout)
"""


def test_entries_and_passes_are_kept_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first, second = (
        json.loads(subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, check=True)
                   .stdout)
        for _ in range(2)
    )  # fmt: skip
    assert first[0] > 0 and second[0] == 0
    assert first[1] == second[1]


def test_an_entry_compiles_once_for_a_type():
    view = tiny_problem("chain").view
    entry, kinds = next(each for each in entries_of(view.data, view.cost))
    assert isinstance(entry, Entry) and entry.address(kinds) == entry.address(kinds)
