"""Files of models: what they say is what graphs score; what is wrong with them is said by line."""

import gzip
import io
import itertools
import json
import os
import re

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Graph
from maxmargin.inference import FactorGraph
from maxmargin.inference.graph.factors import Cardinality, ExactlyOne, Table
from maxmargin.io.files import Spool
from maxmargin.io.graphs import (
    GRAPH_FORMATS,
    graph_format,
    graph_from_networkx,
    graph_to_networkx,
    read_cfn,
    read_dimacs,
    read_evidence,
    read_flow_network,
    read_graph,
    read_graph_npz,
    read_graphs,
    read_qpbo,
    read_uai,
    with_evidence,
    write_graph_npz,
    write_graphs,
    write_uai,
)
from maxmargin.io.graphs.arithmetic import arithmetic_costs

UAI = "MARKOV\n3\n2 3 2\n4\n1 0\n2 0 1\n3 2 1 0\n0\n\n2\n.5 2\n6\n 1 0 .25\n 1 2 3\n12\n" + (
    " ".join(str(k) for k in range(1, 13)) + "\n1\n4\n"
)
WCSP = "name_1 3 3 4 100\n2 3 2\n1 1 2 1\n0 5\n2 0 1 1 2\n0 2 100\n1 0 3\n2 2 0 -1 >= 0 1\n0 4 0\n"
CFN = """{"problem": {"name": "two", "mustbe": "<100.0"},
 "variables": {"a": ["no", "yes"], "b": 3, "c": 2},
# a comment
 "functions": {
  "f": {"scope": ["a", "b"], "costs": "h"},
  "g": {"scope": ["c"], "costs": [0.5, -1.25]},
  "h": {"scope": [2, "b"], "defaultcost": 0.5, "costs": [1, 2, 200, 0, 0, 3]},
  "n": {"scope": [], "costs": [4]},
  "o": {"scope": ["a", "c"], "type": "<", "params": [0, 1]}
 }
}
"""
QPBO = "3 4\n1 1 -3\n1 2 1.5\n2 3 -2\n3 3 1\n"
DIMACS = "c words\np max 4 6\nn 1 s\nn 4 t\na 1 2 5\na 1 3 2\na 2 3 2\na 3 2 1\na 2 4 3\na 3 4 4\n"
TEXTS = {"uai": UAI, "wcsp": WCSP, "cfn": CFN, "qpbo": QPBO, "dimacs": DIMACS}


def read(format, text, **options):
    return read_graph(Spool(text.encode(), "the-file"), format=format, **options).graph


def labellings(graph):
    return itertools.product(*(range(k) for k in graph.shape.n_labels))


def random_graph(rng, n=4):
    """A graph of factors of order 1 to 4, with forbidden entries and mixed numbers of labels."""
    sizes = rng.integers(1, 4, size=n)
    unary = [_scores(rng, (k,)) for k in sizes]
    factors = []
    for _ in range(int(rng.integers(0, 6))):
        nodes = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
        factors.append(Table(nodes, _scores(rng, sizes[nodes])))
    return FactorGraph(unary, factors=factors)


def _scores(rng, shape):
    scores = rng.normal(size=tuple(shape))
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    return scores


# What the formats mean --------------------------------------------------------------------------


def test_uai_is_a_product_of_its_entries():
    graph = read("uai", UAI)
    single, pair = np.array([0.5, 2]), np.array([[1, 0, 0.25], [1, 2, 3]])
    triple = np.arange(1, 13).reshape(2, 3, 2)
    for a, b, c in labellings(graph):
        product = single[a] * pair[a, b] * triple[c, b, a] * 4
        score = graph.score([a, b, c])
        assert score == (-np.inf if product == 0 else pytest.approx(np.log(product)))
    assert read("uai", UAI.replace("MARKOV", "bayes")).score([1, 1, 1]) == graph.score([1, 1, 1])
    one_line = " ".join(UAI.split())
    assert read("uai", one_line).score([1, 2, 0]) == graph.score([1, 2, 0])


def test_uai_of_logarithms(tmp_path):
    text = "MARKOV 1 2 1 1 0 2 -inf -800.5"
    assert read_uai(io.StringIO(text), log=True).score([1]) == -800.5
    path = tmp_path / "model.LG.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_graph(path).graph.score([0]) == -np.inf
    with pytest.raises(ValueError, match=r"line 1: expected entries of table 0, finite and at"):
        read_uai(io.StringIO(text))


def test_wcsp_is_a_sum_of_costs():
    graph = read("wcsp", WCSP)
    for a, b, c in labellings(graph):
        pair = {(0, 2): np.inf, (1, 0): 3}.get((a, b), 1)
        rule = max(0, a - c) if a - c <= 1 else np.inf  # c >= a, or one less
        assert graph.score([a, b, c]) == -((5 if b == 0 else 2) + pair + rule + 4)


def test_wcsp_shared_functions():
    shared = "n 3 2 2 9\n2 2 2\n-2 0 1 0 1\n1 1 7\n2 2 0 0 -1\n"
    graph = read("wcsp", shared)
    assert graph.score([1, 1, 1]) == -14 and graph.score([1, 1, 0]) == -7
    with pytest.raises(ValueError, match=r"line 5: the cost function of \(2, 0\) has the domains"):
        read("wcsp", shared.replace("2 2 2\n", "2 2 3\n", 1))
    with pytest.raises(ValueError, match=r"line 5: expected the number of tuples .* from -1 to"):
        read("wcsp", shared.replace("0 -1", "0 -2"))


def test_a_bound_forbids_only_what_no_solution_contains():
    """A cost above the bound is allowed where negative costs can bring the sum below it."""
    text = "n 2 2 2 10\n2 2\n1 0 0 1\n1 11\n1 1 0 1\n0 -5\n"
    assert read("wcsp", text).score([1, 0]) == -6
    assert read("wcsp", text.replace("11", "15")).score([1, 0]) == -np.inf
    assert read("wcsp", text.replace("-5", "5")).score([1, 0]) == -np.inf


def test_arithmetic_rules():
    """Each rule against its definition, cell by cell."""
    top = np.inf
    rules = {
        ">=": lambda x, y, cst, d: max(0, y + cst - x if y + cst - x <= d else top),
        ">": lambda x, y, cst, d: max(0, y + 1 + cst - x if y + 1 + cst - x <= d else top),
        "<=": lambda x, y, cst, d: max(0, x - cst - y if x - cst - y <= d else top),
        "<": lambda x, y, cst, d: max(0, x - cst + 1 - y if x - cst + 1 - y <= d else top),
        "=": lambda x, y, cst, d: abs(y + cst - x) if abs(y + cst - x) <= d else top,
    }
    for name, rule in rules.items():
        for cst, delta in itertools.product((-1, 0, 2), (0, 1, 9)):
            costs = arithmetic_costs(name, (4, 3), [cst, delta])
            assert costs.tolist() == [[rule(x, y, cst, delta) for y in range(3)] for x in range(4)]
    apart = arithmetic_costs("disj", (4, 4), [2, 1, 7])
    assert [(x, y) for x, y in np.argwhere(apart == 7)] == [
        (x, y) for x in range(4) for y in range(4) if not (x >= y + 1 or y >= x + 2)
    ]
    special = arithmetic_costs("sdisj", (4, 4), [2, 1, 3, 2, 5, 7])
    assert special[3, 2] == 12 and special[3, 0] == 5 and special[0, 2] == 7
    assert special[0, 3] == top and special[1, 1] == top and special[2, 1] == 0


def test_cfn_names_defaults_and_sharing():
    graph, is_cost, names, values = read_cfn(io.StringIO(CFN))
    assert (names, values, is_cost) == (["a", "b", "c"], [["no", "yes"], None, None], True)
    shared = {(1, 2): np.inf, (0, 0): 3}
    for a, b, c in labellings(graph):
        rule = max(0, a + 1 - c) if a + 1 - c <= 1 else np.inf  # a < c, or one less
        cost = shared.get((a, b), 0.5) + shared.get((c, b), 0.5) + [0.5, -1.25][c] + 4 + rule
        assert graph.score([a, b, c]) == pytest.approx(-cost)


def test_cfn_without_quotes_commas_and_names():
    plain = CFN.replace('"', "").replace(",", " ").replace(":", " ").replace("{", "[")
    graph, dense = read("cfn", plain), read("cfn", CFN)
    assert all(graph.score(y) == dense.score(y) for y in labellings(dense))
    short = "{two <100}\n[[no yes] 3 2]\n[[[1] [1 2 inf]] {[0 2] 0.5 [yes 1 7 no 0 2]}]"
    graph = read("cfn", "{" + short + "}")
    assert graph.score([1, 1, 1]) == -9 and graph.score([0, 0, 1]) == -1.5
    assert graph.score([0, 2, 0]) == -np.inf


def test_cfn_maximisation():
    text = '{"problem": {"mustbe": ">-2"}, "variables": {"a": 3}, "functions": {"f": {"scope":'
    graph, is_cost, *_ = read_cfn(io.StringIO(text + '["a"], "costs": [5, -2, -1.5]}}}'))
    assert not is_cost and [graph.score([k]) for k in range(3)] == [5, -np.inf, -1.5]


def test_qpbo_is_a_quadratic_form():
    graph = read("qpbo", QPBO)
    W = np.array([[-3, 1.5, 0], [1.5, 0, -2], [0, -2, 1]])
    for y in labellings(graph):
        x = np.array(y)
        assert graph.score(y) == -(x @ W @ x)
    signs = read("qpbo", QPBO.replace("3 4", "-3 -4"))
    for y in labellings(signs):
        x = 1 - 2 * np.array(y)
        assert signs.score(y) == x @ W @ x
    single = read_qpbo(io.StringIO(QPBO), multiplier=1.0)
    assert single.score([1, 1, 0]) == 3 - 1.5


def test_dimacs_is_a_cut():
    graph = read("dimacs", DIMACS)
    network = read_flow_network(io.StringIO(DIMACS))
    for y in labellings(graph):
        cut = sum(
            capacity
            for (a, b), capacity in zip(network.arcs, network.capacities, strict=True)
            if y[a] == 0 and y[b] == 1
        )
        assert graph.score(y) == (-cut if (y[0], y[3]) == (0, 1) else -np.inf)
    assert max(graph.score(y) for y in labellings(graph)) == -7
    odd = DIMACS.replace("4 6", "4 10") + "a 1 4 9\na 4 1 3\na 3 3 8\na 3 1 2\n"
    assert max(read("dimacs", odd).score(y) for y in labellings(graph)) == -16


def test_evidence():
    graph = read("uai", UAI)
    known = with_evidence(graph, {2: 1, 0: 0})
    for y in labellings(graph):
        is_known = y[2] == 1 and y[0] == 0
        assert known.score(y) == (graph.score(y) if is_known else -np.inf)
    assert read_evidence(io.StringIO("0\n")) == {} == read_evidence(io.StringIO("1\n0\n"))
    assert read_evidence(io.StringIO("1 3 0")) == {3: 0} == read_evidence(io.StringIO("1 1 3 0"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the file ends here; expected the number of known variables"),
        ("2 0 1", "line 1: it is said to have 2 known variables, 4 numbers, and has 2"),
        ("3\n1 0 1", "line 1: it has 3 samples of evidence; expected one"),
        ("2 0 1\n0 0", "line 2: variable 0 has the label 0, and 1 before"),
        ("1 0 x", "line 1: expected a variable or a label, a whole number, got 'x'"),
    ],
)
def test_bad_evidence(text, message):
    with pytest.raises(ValueError, match=f"the-file, {re.escape(message)}"):
        read_evidence(Spool(text.encode(), "the-file"))


def test_evidence_that_does_not_fit():
    graph = read("uai", UAI)
    with pytest.raises(ValueError, match="names the node 3; expected nodes from 0 to 2"):
        with_evidence(graph, {3: 0})
    with pytest.raises(ValueError, match="e: node 1 has the label 3; expected 0 to 2"):
        with_evidence(graph, {1: 3}, "e")


# There and back ---------------------------------------------------------------------------------


def test_graphs_come_back(rng, tmp_path):
    for _ in range(40):
        graph = random_graph(rng)
        write_uai(tmp_path / "a.uai", graph)
        write_uai(tmp_path / "a.LG.gz", graph)
        write_graph_npz(tmp_path / "a.npz", graph)
        for name in ("a.uai", "a.LG.gz", "a.npz"):
            again = read_graph(tmp_path / name).graph
            for y in labellings(graph):
                assert again.score(y) == pytest.approx(graph.score(y), abs=1e-12)
        if (graph.shape.member_at[1:] - graph.shape.member_at[:-1] > 1).all():
            exact = [read_graph(tmp_path / name).graph for name in ("a.LG.gz", "a.npz")]
            assert all(np.array_equal(other.unary, graph.unary) for other in exact)


def test_shared_tables_stay_shared(rng, tmp_path):
    path = tmp_path / "a.npz"
    grid = FactorGraph(rng.normal(size=(6, 3)), [(k, k + 1) for k in range(5)], np.eye(3))
    write_graph_npz(path, grid)
    again = read_graph_npz(path)
    assert len(again.tables) == len(grid.tables) == 9
    assert np.array_equal(again.tables, grid.tables) and np.array_equal(again.unary, grid.unary)
    assert np.array_equal(again.shape.members, grid.shape.members)
    # A file whose factors share a table in any other way has no more scores than it is allowed.
    arrays = {
        "n_labels": [3, 3, 2], "unary": [0.0] * 8, "orders": [2] * 50, "members": [0, 1] * 50,
        "tables": np.arange(9.0), "table_at": [0] * 50,
    }  # fmt: skip
    np.savez(path, **{key: np.array(a) for key, a in arrays.items()})
    assert read_graph_npz(path).score([1, 2, 0]) == 250
    with pytest.raises(ValueError, match=r"a\.npz: the factors have 450 scores, more than 100"):
        read_graph_npz(path, most_cells=100)


def test_no_nodes_and_no_factors(tmp_path):
    for graph in (FactorGraph([]), FactorGraph([[0.5]])):
        for name in ("a.uai", "a.LG", "a.npz"):
            (write_graph_npz if name == "a.npz" else write_uai)(tmp_path / name, graph)
            again = read_graph(tmp_path / name).graph
            assert again.n_nodes == graph.n_nodes and again.n_factors == 0
            zeros = [0] * graph.n_nodes
            assert again.score(zeros) == pytest.approx(graph.score(zeros))
    with pytest.raises(ValueError, match="has the constant 3 but no variable that could hold it"):
        read("wcsp", "n 0 0 1 10\n0 -3 0\n")


def test_rules_become_tables(tmp_path):
    rules = [ExactlyOne((0, 1, 2)), Cardinality((3, 1), [0.0, 2.0, -np.inf])]
    graph = FactorGraph(np.zeros((4, 2)), factors=rules)
    write_uai(tmp_path / "a.LG", graph)
    write_graph_npz(tmp_path / "a.npz", graph)
    for name in ("a.LG", "a.npz"):
        again = read_graph(tmp_path / name).graph
        assert all(again.score(y) == graph.score(y) for y in labellings(graph))
    large = FactorGraph(np.zeros((20, 2)), factors=[ExactlyOne(range(20))])
    with pytest.raises(ValueError, match=r"a rule over 20 nodes.*would have 1048576 cells"):
        write_uai(tmp_path / "large.uai", large)
    assert not (tmp_path / "large.uai").exists()


def test_scores_without_an_exponential_are_refused_and_nothing_is_written(tmp_path):
    for score in (-800.0, 800.0):
        with pytest.raises(ValueError, match=r"the score -?800 of the nodes \(0,\).*log=True"):
            write_uai(tmp_path / "a.uai", FactorGraph([[0.0, score]]))
    assert os.listdir(tmp_path) == []
    write_uai(tmp_path / "a.uai", FactorGraph([[0.0, 800.0]]), log=True)
    assert read_uai(tmp_path / "a.uai", log=True).score([1]) == 800


def test_networkx_and_back(rng):
    networkx = pytest.importorskip("networkx")
    for _ in range(20):
        graph = FactorGraph(
            rng.normal(size=(4, 3)), [(0, 1), (2, 1), (3, 0)], rng.normal(size=(3, 3, 3))
        )
        again = graph_from_networkx(graph_to_networkx(graph))
        assert all(again.score(y) == graph.score(y) for y in labellings(graph))
    network = networkx.Graph(T=[[1.0, 0.0], [5.0, 2.0]])
    network.add_node("b", u=[0.0, 0.0])
    network.add_node("a", u=[0.0, 3.0])
    network.add_edge("a", "b")  # reported as (b, a): rows are those of the node that came first
    graph = graph_from_networkx(network, "u", "T")
    assert graph.score([1, 0]) == 5 and graph.score([0, 1]) == 3
    network.edges["a", "b"]["T"] = [[0.0, 7.0], [0.0, 0.0]]
    assert graph_from_networkx(network, "u", "T").score([0, 1]) == 10
    assert graph_from_networkx(network, "u", None).score([0, 1]) == 3
    twice = networkx.MultiDiGraph(network)
    assert graph_from_networkx(twice, "u", "T").score([0, 1]) == 10
    larger = FactorGraph(np.zeros((3, 2)), factors=[Table((0, 1, 2), rng.normal(size=(2, 2, 2)))])
    hub = graph_to_networkx(larger).nodes["factor", 0]
    assert hub["nodes"] == (0, 1, 2) and hub["table"].shape == (2, 2, 2)
    with pytest.raises(ValueError, match="node 'b' has no attribute 'unary'; its attributes are"):
        graph_from_networkx(network)
    with pytest.raises(ValueError, match=r"edge \('b', 'a'\) has no attribute 'w'"):
        graph_from_networkx(network, "u", "w")
    with pytest.raises(TypeError, match="expected a graph of networkx, got list"):
        graph_from_networkx([])


def test_samples_come_back(rng, tmp_path):
    X = [
        (rng.normal(size=(n, 3)), rng.integers(0, n, size=(m, 2)), rng.normal(size=(m, 2)))
        for n, m in ((4, 5), (1, 0), (2, 3))
    ]
    y = [rng.integers(-1, 3, size=len(x[0])) for x in X]
    write_graphs(tmp_path / "a.npz", X, y)
    again, labels = read_graphs(tmp_path / "a.npz")
    for a, b in zip(X, again, strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(y, labels, strict=True))
    write_graphs(tmp_path / "a.npz", [x[:2] for x in X])
    again, labels = read_graphs(tmp_path / "a.npz")
    assert labels is None and len(again[0]) == 2
    write_graphs(tmp_path / "a.npz", [(*X[0][:2], None), X[1][:2], [*X[2][:2], None]])
    assert [len(x) for x in read_graphs(tmp_path / "a.npz")[0]] == [2, 2, 2]
    write_graphs(tmp_path / "a.npz", [Graph(*x) for x in X])
    again, _ = read_graphs(tmp_path / "a.npz")
    for a, b in zip(X, again, strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_nodes": [2, 2]}, "n_nodes sums to 4, but X has 3 rows"),
        ({"n_nodes": [-1, 4]}, "n_nodes sums to 3, but X has 3 rows"),
        ({"n_edges": [1]}, "n_nodes is of 2 graphs and n_edges of 1"),
        (
            {"edges": [[0, 1], [0, 2]]},
            "edge 0 of graph 1 joins 0 and 2; expected nodes from 0 to 0",
        ),
        ({"edges": [[0, 1, 2]] * 2}, "expected (number of edges, 2)"),
        ({"y": [[0]] * 3}, "y has shape (3, 1); expected 1 axes"),
        ({"E": [[1.0]]}, "n_edges sums to 2, but E has 1 rows"),
        ({"X": None}, "has no key 'X'"),
        ({"edges": None}, "has no key 'edges'; its graphs cannot be told apart"),
    ],
)
def test_samples_that_do_not_fit(change, message, tmp_path):
    arrays = {
        "X": np.eye(3), "n_nodes": [2, 1], "edges": [[0, 1], [0, 0]], "n_edges": [1, 1],
    } | change  # fmt: skip
    path = tmp_path / "a.npz"
    np.savez(path, **{key: np.array(a) for key, a in arrays.items() if a is not None})
    with pytest.raises(ValueError, match=f"a.npz.*{re.escape(message)}"):
        read_graphs(path)


def test_samples_that_cannot_be_written(tmp_path):
    x = (np.eye(2), [(0, 1)])
    for X, y, message in [
        ([x, (*x, np.eye(1))], None, "and not both"),
        ([(*x, np.eye(2))], None, r"X\[0\] has 1 edges and 2 rows"),
        ([x], [[0]], "y does not have a label for every node"),
        ([(np.eye(2), [(0, 2)])], None, "edge 0 of graph 0 joins 0 and 2; expected nodes from 0 t"),
        ([], None, "X holds no graph"),
        ([(np.eye(2),)], None, r"got tuples of lengths \[1\]"),
        ([x, Graph(*x, node_weights=np.ones(2))], None, r"X\[1\] has node_weights, which files"),
        (
            [Graph(np.eye(3), hyperedges=[(0, 1, 2)], node_types="aab")],
            None,
            r"X\[0\] has node_types, hyperedges, which files",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            write_graphs(tmp_path / "a.npz", X, y)
    for X, message in [
        ([(sp.csr_matrix(np.eye(2)), [(0, 1)])], r"X\[0\]: node_features is a sparse csr_matrix"),
        ([x, {"nodes": np.eye(2)}], r"X\[1\] is a dict; expected a tuple"),
        ([np.eye(2)], r"X\[0\] is a ndarray; expected a tuple"),
        ([x, Graph(np.eye(2), None)], r"X\[1\]: edges is None"),
        ([(np.eye(2), None, None)], r"X\[0\]: edges is None"),
    ]:
        with pytest.raises(TypeError, match=message):
            write_graphs(tmp_path / "a.npz", X)
    assert os.listdir(tmp_path) == []


# Files that are wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("format", TEXTS)
def test_a_file_that_is_cut_short_names_its_line(format):
    text = TEXTS[format]
    words = [match.end() for match in re.finditer(r"\S+", text)]
    last = words[-2]  # what ends within its last word may still be a file
    for end in words:
        if end > last or (format == "wcsp" and end > words[-3]):
            continue
        with pytest.raises(ValueError, match=r"^the-file, line \d+: ") as caught:
            read(format, text[:end])
        line = int(re.search(r"line (\d+)", str(caught.value))[1])
        assert line == text[:end].count("\n") + 1 or "the file ends here" not in str(caught.value)


@pytest.mark.parametrize("format", TEXTS)
def test_every_word_changed_is_read_or_refused_by_name(format):
    """Thousands of files with one word off: a model, or a plain ValueError that names the file."""
    text, refused = TEXTS[format], 0
    words = list(re.finditer(r"[^\s,:\[\]{}]+", text))
    news = ["", "-1", "0", "7", "1e999", "nan", "-inf", "1_0", "x", "99999999999", "\u0663", "1.5"]
    for word, new in itertools.product(words, news):
        changed = text[: word.start()] + new + text[word.end() :]
        try:
            graph = read(format, changed, most_cells=10_000)
        except ValueError as error:
            if type(error) is not ValueError or "the-file" not in str(error):
                raise AssertionError(repr(error)) from error
            refused += 1
        else:
            assert not np.isnan(graph.unary).any() and not (graph.unary == np.inf).any()
            assert not np.isnan(graph.tables).any() and not (graph.tables == np.inf).any()
    assert refused > len(words)


@pytest.mark.parametrize(
    ("format", "old", "new", "message"),
    [
        ("uai", "MARKOV", "FACTOR", "line 1: expected MARKOV or BAYES, got 'FACTOR'"),
        ("uai", "3\n2 3 2", "-3\n2 3 2", "line 2: expected the number of variables from 0 to"),
        (
            "uai",
            "2 3 2\n",
            "2 0 2\n",
            "line 3: expected numbers of labels, whole numbers from 1 to",
        ),
        ("uai", "2 3 2\n", "2 1e9 2\n", "line 3: the model has more than 30000000 scores; if that"),
        (
            "uai",
            "2 0 1",
            "2 0 3",
            "line 6: expected variables of table 1, whole numbers from 0 to 2",
        ),
        ("uai", "2 0 1", "2 1 1", "line 6: names the variable 1 twice in one table"),
        ("uai", "2\n.5 2", "3\n.5 2", "line 10: table 0 is said to have 3 entries; expected 2"),
        ("uai", ".5 2", ".5 -2", "line 11: expected entries of table 0, finite and at least 0"),
        ("uai", ".5 2", ".5 two", "line 11: expected entries of table 0, got 'two'"),
        ("uai", "1\n4\n", "1\n4 5\n", "line 18: expected the end of the file, got '5'"),
        ("wcsp", "3 3 4 100", "3 3 -4 100", "line 1: expected the number of cost functions from 0"),
        ("wcsp", "3 3 4 100", "99999 3 4 1", "line 8: expected sizes of domains, got '>='"),
        ("wcsp", "2 3 2\n", "2 3 -2\n", "line 2: expected sizes of domains, whole numbers from 1"),
        ("wcsp", "2 3 2\n", "2 999999999 2\n", "line 2: the model has more than 30000000 scores"),
        ("wcsp", "1 0 3", "2 0 3", "tuple 1 of the cost function of (0, 1) has the label 2"),
        (
            "wcsp",
            "1 1 2 1\n",
            "1 1 2 9999999999\n",
            "line 8: expected numbers of 9999999999 tuples",
        ),
        ("wcsp", ">=", "salldiff", "line 8: the cost function of (2, 0) is 'salldiff'; expected"),
        ("wcsp", "0 4 0", "0 4 0 1", "line 9: expected the end of the file, got '1'"),
        ("cfn", "<100.0", "100.0", "line 1: expected mustbe, < or > and a number, got '100.0'"),
        ("cfn", '"b": 3', '"a": 3', "line 2: the variable 'a' comes twice"),
        ("cfn", '"b": 3', '"b": -3', "line 2: expected a number of labels of 'b', got '-3'"),
        ("cfn", '"b": 3', '"b": 999999999', "line 2: the model has more than 30000000 scores"),
        ("cfn", '["no", "yes"]', "[]", "line 2: the variable 'a' has no label"),
        ("cfn", '["no", "yes"]', '["no", "no"]', "line 2: a label of the variable 'a' comes twice"),
        ("cfn", '"costs": "h"', '"costs": "f"', "line 5: no later function is called 'f'"),
        ("cfn", '"costs": "h"', '"costs": "g"', "line 5: the function of (0, 1) has (2, 3) labels"),
        ("cfn", "[0.5, -1.25]", "[0.5]", "line 6: the function of (2,), which begins in line 6"),
        ("cfn", "[0.5, -1.25]", "[0.5, x]", "a number, got 'x'"),
        ("cfn", "[0.5, -1.25]", "[0.5, -inf]", "is infinite and asked for"),
        ("cfn", '[2, "b"]', '[2, "z"]', "line 7: there is no variable 'z'"),
        ("cfn", "[1, 2, 200", "[1, 3, 200", "line 7: the variable 'b' has 3 labels, and '3' is no"),
        (
            "cfn",
            '"<", "params"',
            '"salldiff", "params"',
            "line 9: the function of (0, 2) is of the",
        ),
        ("cfn", "[0, 1]}", "[0]}", "line 9: expected 2 finite parameters of <, got [0.0]"),
        ("cfn", '"two"', '"two', "line 1: a quote does not end in its line"),
        ("qpbo", "2 3 -2", "2 4 -2", "coefficient 2 is of the variables 2 and 4; expected whole"),
        ("qpbo", "3 4\n", "3 5\n", "line 5: the file ends here; expected 15 numbers of coeff"),
        ("qpbo", "3 4\n", "3 3\n", "line 5: expected the end of the file, got '3'"),
        ("qpbo", "3 4\n", "2000000000 4\n", "line 1: the model has more than 30000000 scores"),
        ("qpbo", "1 2 1.5\n2 3 -2", "1 2 1e308\n2 1 1e308", "its coefficients add up to more"),
        ("dimacs", "a 1 2 5", "a 1 2 1e308", "scores as large as 1e+308 overflow"),
        ("dimacs", "p max", "p min", "line 2: expected a maximum flow problem, p max, got 'min'"),
        ("dimacs", "p max 4 6\n", "", "line 2: expected the sizes first"),
        ("dimacs", "4 6", "4 7", "line 10: the file ends here; expected 7 arcs, got 6"),
        ("dimacs", "4 6", "4 9999999999", "line 2: the model has more than 30000000 scores"),
        ("dimacs", "n 1 s\n", "", "no line says the source, n NODE s"),
        ("dimacs", "n 4 t", "n 1 t", "node 1 is source and sink"),
        ("dimacs", "n 4 t", "n 4 s", "line 4: a second node is called s"),
        ("dimacs", "a 1 2 5", "a 1 5 5", "line 5: expected the end of an arc from 1 to 4, got 5"),
        ("dimacs", "a 1 2 5", "a 1 2 -5", "line 5: expected the capacity of an arc, finite and at"),
        ("dimacs", "a 1 2 5", "b 1 2 5", "line 5: expected a line that begins with c, p, n or a"),
    ],
)
def test_bad_files(format, old, new, message):
    assert old in TEXTS[format]
    with pytest.raises(ValueError, match=f"^the-file.*{re.escape(message)}"):
        read(format, TEXTS[format].replace(old, new, 1))


def test_a_limit_that_is_meant_can_be_raised():
    text = "MARKOV 2 3000 3000 0"
    with pytest.raises(ValueError, match="more than 5000 scores; if that is meant, say most_cells"):
        read("uai", text, most_cells=5000)
    assert read("uai", text).n_nodes == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_labels": [2, 0]}, "n_labels must hold whole numbers of at least 1"),
        ({"unary": [0.0]}, "unary has 1 scores, but the nodes have 4 labels"),
        ({"orders": [3]}, "members has 2 nodes, but the factors have 3"),
        ({"members": [0, 2]}, "members names the node 2; expected 0 to 1"),
        ({"members": [1, 1]}, "edges[0] joins node 1 to itself"),
        (
            {"n_labels": [2, 3], "unary": [0.0] * 5, "members": [1, 1], "tables": [0.0] * 9},
            "factor 0 has the nodes (1, 1); expected 32 different ones",
        ),
        ({"table_at": [1]}, "tables has 4 scores, and ends within those of factor 0"),
        ({"table_at": [0, 0]}, "table_at is of 2 factors, but there are 1"),
        ({"tables": [0.0] * 3}, "tables has 3 scores; expected 4"),
        ({"tables": [0.0] * 5}, "tables has 5 scores; expected 4"),
        ({"tables": [0.0, np.nan, 0.0, 0.0]}, "is NaN"),
        ({"unary": [0.0, np.inf, 0.0, 0.0]}, "is +inf"),
        ({"unary": [[0.0] * 4]}, "unary has shape (1, 4); expected one axis"),
        ({"orders": None}, "has no key 'orders'; it is no file of a factor graph"),
        ({"n_labels": None}, "has no key 'n_labels'"),
        ({"n_labels": [2**31 - 1] * 2}, "unary has 4 scores, but the nodes have 4294967294 labels"),
    ],
)
def test_arrays_that_do_not_fit(change, message, tmp_path):
    arrays = {
        "n_labels": [2, 2], "unary": [0.0] * 4, "orders": [2], "members": [0, 1],
        "tables": [0.0] * 4,
    } | change  # fmt: skip
    path = tmp_path / "a.npz"
    np.savez(path, **{key: np.array(a) for key, a in arrays.items() if a is not None})
    with pytest.raises(ValueError, match=f"a.npz.*{re.escape(message)}"):
        read_graph_npz(path)


def test_formats_by_name(tmp_path):
    assert graph_format("A.UAI.gz") == "uai" and graph_format("b.bqp") == "qpbo"
    with pytest.raises(
        ValueError, match=r"a\.txt: the extension '\.txt' names no format of models"
    ):
        read_graph(tmp_path / "a.txt")
    with pytest.raises(ValueError, match=r"format='lp' is unknown\. There are: uai, wcsp"):
        read_graph(tmp_path / "a.txt", format="lp")
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_graph(tmp_path / "a.wcsp")
    for format, text in TEXTS.items():
        path = tmp_path / f"packed.{format}"
        path.write_bytes(gzip.compress(text.encode()))
        assert read_graph(path).graph.n_nodes == read(format, text).n_nodes
    assert set(TEXTS) | {"npz"} == set(GRAPH_FORMATS)


# Real instances ---------------------------------------------------------------------------------

#: File, nodes, the most labels, the highest order of a table in the file.
INSTANCES = {
    "GeomSurf-7-gm256.uai": (787, 7), "pedigree9.uai": (1118, 7), "pedigree1.uai": (334, 4),
    "water.uai": (32, 4), "network.uai": (120, 2), "celar6sub0.wcsp": (32, 44),
    "404.wcsp": (100, 4), "505.wcsp": (240, 4), "scen06.wcsp": (100, 44), "1aho.cfn": (64, 55),
    "bqp100-1.qpbo": (100, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", INSTANCES)
def test_instances_are_read_whole(name, data_dir):
    folder = data_dir / "mrf_instances"
    path = next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)
    if path is None:
        pytest.skip(f"no {name} in {folder}")
    found = read_graph(path)
    n_nodes, n_labels = INSTANCES[name]
    assert found.graph.n_nodes == n_nodes and found.graph.shape.n_labels.max() == n_labels
    assert found.is_cost == (not name.endswith(".uai"))
    assert not np.isnan(found.graph.tables).any() and (found.graph.tables < np.inf).all()


@pytest.mark.parametrize("name", ["network.uai", "pedigree1.uai", "1aho.cfn", "bqp100-1.qpbo"])
def test_energies_are_those_that_others_proved(name, data_dir):
    """The best labelling has the published energy, so that the file was read as others read it."""
    from maxmargin.datasets import load_mrf_instance
    from maxmargin.inference import solve_graph

    if not (data_dir / "mrf_instances").is_dir():
        pytest.skip(f"no data set mrf_instances in {data_dir}")
    found = load_mrf_instance(name, data_home=data_dir)
    assert found.is_proved
    # "auto" proves the last one too, but takes two seconds; roof duality has a bracket at once.
    is_quick = not name.endswith("qpbo")
    answer = solve_graph(found.graph, "auto" if is_quick else "roof")
    if is_quick:
        assert answer.is_exact and -answer.score == pytest.approx(found.energy, abs=5e-4)
    else:
        assert 0.95 * -found.energy < answer.score <= -found.energy <= answer.bound


@pytest.mark.parametrize(
    ("name", "flow"),
    [
        ("max_flow.dat", 13), ("max_flow4.dat", 0), ("max_flow5.dat.gz", 0), ("max_flow6.dat", 112),
        ("max_flow7.dat.gz", 124), ("max_flow8.dat.gz", 251), ("max_flow9.dat.gz", 640),
    ],
)  # fmt: skip
def test_the_best_cut_is_the_maximum_flow(name, flow, data_dir):
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    path = data_dir / "maxflow_dimacs" / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    network = read_flow_network(path)
    n = network.n_nodes
    keep = network.arcs[:, 0] != network.arcs[:, 1]
    a, b = network.arcs[keep].T
    capacities = csr_matrix((network.capacities[keep].astype(np.int32), (a, b)), shape=(n, n))
    found = maximum_flow(capacities, network.source, network.sink)
    assert found.flow_value == flow
    left = capacities - found.flow
    left.eliminate_zeros()
    reached = breadth_first_order(left, network.source, return_predecessors=False)
    labels = np.ones(n, dtype=np.int64)
    labels[reached] = 0
    # A cut of the value of a flow: neither can be better.
    assert read_dimacs(path).score(labels) == -flow


def test_json_of_cfn_is_json():
    """The sample is a file that any reader of JSON takes, but for its comment."""
    lines = [line for line in CFN.splitlines() if not line.startswith("#")]
    assert json.loads("\n".join(lines))["variables"]["b"] == 3
