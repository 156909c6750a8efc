"""The golden harness: stored intervals hold today, and its verdicts are what it says."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import golden_tree  # noqa: E402
from golden_cases import Case, Vocabulary, all_cases  # noqa: E402
from golden_compare import compare, interval, number, outwards, overlap  # noqa: E402

STORED = json.loads((BENCHMARKS / "results" / "golden.json").read_text())

#: What rounding and six digits leave: the same on every machine.
ROOM = 1e-6

#: A few of a thousand cases: every structure, cost family, solver and kind of search.
SAMPLE = [
    Case("multiclass", "matrix", "slack", "bcfw"),
    Case("multiclass", "hamming", "margin", "sdca", features="csr"),
    Case("chain", "hamming", "margin", "one_slack"),
    Case("chain", "zero_one", "margin", "n_slack"),
    Case("chain", "class_weighted", "slack", "bcfw", search="hull"),
    Case("multilabel", "f1", "margin", "bcfw"),
    Case("multilabel", "hamming", "micro_f1", "one_slack"),
    Case("multilabel_tree", "hamming", "slack", "one_slack"),
    Case("multilabel_listed", "hamming", "log", "bcfw"),
    Case("multilabel_listed", "hamming", "slack", "bcfw", search="angular"),
    Case("multilabel_pairwise", "hamming", "margin", "one_slack"),
    Case("multilabel_relaxed", "class_weighted", "margin", "bcfw"),
    Case("multilabel_relaxed_program", "hamming", "margin", "one_slack"),
    Case("ranking", "ap", "margin", "bcfw", start="warm"),
    Case("ranking", "ndcg", "margin", "one_slack:inwards"),
    Case("user", "own", "slack", "n_slack"),
]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_bounds_of_today_overlap_the_stored_ones(case):
    record = golden_tree.run_case(case)
    assert "refused" not in record, record
    bounds = interval(record)
    assert bounds is not None and number(record, "gap") >= 0.0
    assert overlap(bounds, STORED[case.problem], ROOM)


def test_no_primal_without_a_certificate_is_below_the_stored_bound():
    case = Case("chain", "hamming", "margin", "sgd")
    record = golden_tree.run_case(case)
    assert interval(record) is None
    assert number(record, "primal") >= STORED[case.problem][0] * (1.0 - ROOM)


def test_stored_problems_are_still_known_by_name():
    """A name that has moved gets a line in PLACES or ALIASES of golden_tree.py."""
    words = golden_tree.vocabulary()
    for problem in STORED:
        structure, cost, surrogate = problem.partition("+")[0].split("/")
        assert structure in words.structures
        assert cost in [*words.costs, "own"]
        assert surrogate in words.surrogates
    for place in golden_tree.PLACES:
        if place != "RANKING_COSTS":  # one registry, one day
            golden_tree.find(place)


def test_cases_have_names_of_their_own():
    words = golden_tree.vocabulary()
    names = [case.name for case in all_cases(words)]
    assert len(set(names)) == len(names)
    assert words | Vocabulary(["new"], [], [], [], []) == Vocabulary(
        [*words.structures, "new"], *words[1:]
    )


# -- verdicts ------------------------------------------------------------------------------------


def record(primal=1.0, dual=0.9, w=(1.0, 2.0), status="converged", passes=3, calls=12, y=""):
    return {
        "w": np.array(w).tobytes().hex(),
        "primal": float(primal).hex(),
        "dual": float(dual).hex(),
        "gap": float(primal - dual).hex(),
        "status": status,
        "passes": passes,
        "calls": calls,
        "outputs": y,
    }


ANY = {"chain/*": "summed in another order"}
REFUSED = {"refused": "ValueError: does not fit"}


@pytest.mark.parametrize(
    ("old", "new", "strict", "allowed"),
    [
        (record(), record(), "equal", "equal"),
        (record(), record(w=(1.0, np.nextafter(2.0, 3.0))), "differs", "allowed"),
        (record(), record(passes=4), "differs", "allowed"),
        (record(), record(calls=13), "differs", "allowed"),
        (record(y="00"), record(y="01"), "differs", "allowed"),
        (record(), record(primal=1.1, dual=0.95), "differs", "allowed"),
        (record(), record(primal=1.3, dual=1.2), "differs", "differs"),
        (record(), record(status="max_iter", primal=2.0), "differs", "differs"),
        (record(), record(dual=math.nan), "differs", "differs"),
        (record(), record() | {"gap": (0.01).hex(), "passes": 4}, "differs", "differs"),
        (record(dual=math.nan), record(1.0 + 1e-9, math.nan), "differs", "allowed"),
        (record(dual=math.nan), record(1.1, math.nan), "differs", "differs"),
        (record(math.nan, math.nan), record(math.nan, math.nan), "equal", "equal"),
        (record(math.nan, math.nan), record(math.nan, math.nan, w=(1, 3)), "differs", "differs"),
        (record(), record(w=(1.0, 2.0, 3.0)), "differs", "allowed"),
        (record(), REFUSED, "gone", "allowed"),
        (REFUSED, record(), "new", "new"),
    ],
)
def test_verdicts(old, new, strict, allowed):
    assert compare("chain/hamming/margin/bcfw", old, new, {}).kind == strict
    assert compare("chain/hamming/margin/bcfw", old, new, ANY).kind == allowed


def test_what_both_refuse_is_no_case():
    assert compare("chain/f1/margin/bcfw", REFUSED, REFUSED, {}) is None


def test_intervals_are_rounded_outwards():
    assert outwards(0.12345678, 0.12345679) == [0.123456, 0.123457]
    assert outwards(-1.00000049, -1.0) == [-1.00001, -1.0]
    assert outwards(0.0, 123456.7) == [0.0, 123457.0]
