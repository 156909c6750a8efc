"""Hierarchies and labels in them: every form in, the same form out, and what is refused."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.inputs.hierarchy import Hierarchy
from maxmargin.inputs.hierarchy.given import check_given, given_hierarchy, is_undecided
from maxmargin.inputs.hierarchy.labels import NodeForm, read_nodes
from maxmargin.inputs.hierarchy.space import HierarchySpace, choose_space

TREE = {"animal": ["mammal", "bird"], "mammal": ["cat", "dog"], "bird": ["owl"]}
DIAMOND = [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c"), ("e", "c")]


def random_dag(rng, n_nodes):
    """Return edges (child, parent) over names that are in no helpful order."""
    names = rng.permutation([f"n{v}" for v in range(n_nodes)]).tolist()
    edges = []
    for v in range(1, n_nodes):
        for p in rng.choice(v, size=rng.integers(0, min(v, 3) + 1), replace=False):
            edges.append((names[v], names[p]))
    return names, edges


# -- hierarchies ---------------------------------------------------------------------------------


def test_all_forms_give_one_hierarchy():
    by_children = Hierarchy.of(TREE)
    edges = [(child, parent) for parent, below in TREE.items() for child in below]
    graph = networkx.DiGraph([(parent, child) for child, parent in edges])
    parents = dict(edges) | {"animal": None}
    for given in (edges, np.array(edges), graph, parents, by_children, by_children.to_networkx()):
        found = Hierarchy.of(given)
        assert set(found.to_edges()) == set(edges)
        assert found.is_forest and found.roots.tolist() == ["animal"] and found.depth == 3
    paths = Hierarchy.of(["animal/mammal/cat", "animal/mammal/dog", "animal/bird/owl"])
    rows = Hierarchy.of([["animal", "mammal", "cat"], ["animal", "mammal", "dog"],
                         ["animal", "bird", "owl"]])  # fmt: skip
    assert paths == rows and len(paths) == len(by_children)
    assert {name.split("/")[-1] for name in paths.nodes} == set(by_children.nodes)


def test_parents_come_first_and_closure_is_that_of_networkx(rng):
    for _ in range(100):
        names, edges = random_dag(rng, int(rng.integers(1, 12)))
        found = Hierarchy.from_edges(edges, nodes=names)
        graph = networkx.DiGraph([(p, c) for c, p in edges])
        graph.add_nodes_from(names)
        place = found.labels.index
        assert all(place[parent] < place[child] for child, parent in edges)
        chosen = rng.random((3, len(names))) < 0.3
        closed = found.closure(chosen).toarray()
        for row, flags in zip(closed, chosen, strict=True):
            expected = set(found.nodes[flags])
            for node in found.nodes[flags]:
                expected |= networkx.ancestors(graph, node)
            assert set(found.nodes[row == 1]) == expected
            ends = found.most_specific(row[None]).toarray()[0]
            below = {n for n in expected if not set(graph.successors(n)) & expected}
            assert set(found.nodes[ends == 1]) == below
        levels = {n: 1 + max((len(p) - 1 for p in _paths_to(graph, n)), default=0) for n in names}
        assert found.levels.tolist() == [levels[n] for n in found.nodes]
        assert Hierarchy.from_state(found.to_state()) == found
        assert Hierarchy.from_graph(found.to_networkx()) == found


def _paths_to(graph, node):
    roots = [n for n in graph if graph.in_degree(n) == 0]
    return [p for r in roots for p in networkx.all_simple_paths(graph, r, node)]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Hierarchy.of([("a", "b"), ("b", "a")]), ValueError, "cycle: 'b' < 'a' < 'b'"),
        (lambda: Hierarchy.of([("a", "a")]), ValueError, "cycle: 'a' < 'a'"),
        (lambda: Hierarchy.of([(1, 2), ("1", 2)]), ValueError, "1 and '1' look alike"),
        (lambda: Hierarchy.from_edges([("a", "b")], ["b", "b "]), ValueError, "look alike"),
        (
            lambda: Hierarchy.from_edges([("a", "b")], ["a"]),
            ValueError,
            "parent 'b', which is none",
        ),
        (lambda: Hierarchy.from_edges([("a", "b")], ["b"]), ValueError, "child 'a', which is none"),
        (lambda: Hierarchy.from_edges([("a", "b")], ["b", "b"]), ValueError, "names 'b' twice"),
        (lambda: Hierarchy.of({"a": "b", "c": None}), ValueError, "'a' has the parent 'b'"),
        (lambda: Hierarchy.of({"a": "b", "c": ["d"]}), ValueError, "some nodes to collections"),
        (lambda: Hierarchy.from_dict({"a": "b"}, "up"), ValueError, "values='up' is not known"),
        (lambda: Hierarchy.of([]), ValueError, "holds no path"),
        (lambda: Hierarchy.of({}), ValueError, "has no nodes"),
        (lambda: Hierarchy.of("a/b"), TypeError, "must be a Hierarchy"),
        (lambda: Hierarchy.of(networkx.Graph([(1, 2)])), TypeError, "has no directions"),
        (lambda: Hierarchy.of(["a//b"]), ValueError, "has an empty level"),
        (lambda: Hierarchy.of(["a/b/"]), ValueError, "has an empty level"),
        (lambda: Hierarchy.from_paths([["a", "", "b"]]), ValueError, "no level 2 but a level 3"),
        (lambda: Hierarchy.from_paths([["a/b", "c"]]), ValueError, "contains the separator '/'"),
        (lambda: Hierarchy.from_paths([["a", 0.5]]), TypeError, "text or an integer"),
        (lambda: Hierarchy.from_paths(["a"], ""), ValueError, "separator must be text"),
        (lambda: Hierarchy.from_edges([("a", "b", "c")]), ValueError, "must be a pair"),
        (lambda: Hierarchy.from_edges([(["a"], "b")]), TypeError, "hashable"),
    ],
)
def test_bad_hierarchies(make, error, message):
    with pytest.raises(error, match=message):
        make()


# -- labels --------------------------------------------------------------------------------------


PETS = [["pet", "cat"], ["pet", "dog"], ["wild", "fox"]]
TURNED = [(child, parent) for parent, child in PETS]


@pytest.mark.parametrize("form", [list, np.array])
def test_labels_tell_edges_from_paths_of_two_levels(form):
    as_paths = Hierarchy.from_paths(PETS)
    for y in (np.array(PETS), PETS, ["pet/cat", "pet", "wild/fox"]):
        assert given_hierarchy(form(PETS), y, 3, "/") == as_paths
    as_edges = Hierarchy.from_edges(TURNED)
    for y in (["cat", "dog", "fox"], [{"cat", "fox"}, {"dog"}, set()], np.array(PETS), PETS,
              as_edges.ancestry[:3]):  # fmt: skip
        assert given_hierarchy(form(TURNED), y, 3, "/") == as_edges
    assert is_undecided(form(PETS), "/") and not is_undecided(["a/b"], "/")


def test_pairs_that_labels_do_not_tell_are_refused():
    say = r"Say which: hierarchy=Hierarchy.from_edges\(pairs\) or Hierarchy.from_paths\(pairs\)"
    for y in (["cat", "dog", "fox"], [{"cat"}, {"dog"}, {"fox", "cat"}], ["bat", "cat", "dog"]):
        with pytest.raises(ValueError, match=f"y fits neither. As edges: y.* As paths: .*{say}"):
            given_hierarchy(PETS, y, 3, "/")
    with pytest.raises(ValueError, match=f"as edges .* and as paths of two levels. {say}"):
        given_hierarchy(TURNED, [["cat", "pet"], ["fox", "wild"], ["dog", "pet"]], 3, "/")
    with pytest.raises(ValueError, match="look alike"):
        check_given([((1,), 0), ((1,), "0")], "/")


def test_a_matrix_of_flags_of_another_width_is_no_array_of_levels():
    hierarchy = Hierarchy.of(TREE)
    for n_columns in (3, 5, 7):  # 3 leaves, 6 nodes
        for kind in (int, float, bool):
            y = np.eye(2, n_columns, dtype=kind)
            for form in (y, sp.csr_matrix(y)):
                with pytest.raises(ValueError, match=f"{n_columns} columns but the .* 6 nodes"):
                    read_nodes(form, 2, hierarchy)
    levels = Hierarchy.from_paths([[0, 1], [1, 0], [1, 1]])
    assert read_nodes(np.array([[0, 1], [1, 1]]), 2, levels).form.kind == "levels"


def test_names_may_be_tuples():
    edges = [(("a", 1), "top"), (("a", 2), "top"), ((("b",), 1), ("a", 2))]
    for given in (edges, [list(edge) for edge in edges]):
        hierarchy = given_hierarchy(given, None, 0, "/")  # tuples are no levels
        assert hierarchy.to_edges() == Hierarchy.from_edges(edges).to_edges()
    for y in ([("a", 1), (("b",), 1)], [{("a", 1)}, {(("b",), 1), "top"}]):
        found = read_nodes(y, 2, hierarchy)
        assert found.closed.sum(axis=1).ravel().tolist() == [[2, 3]]
    assert read_nodes([("a", 1)], 1, hierarchy).form.kind == "names"


def nodes_of(found):
    return [set(found.hierarchy.nodes[row == 1]) for row in found.closed.toarray()]


def test_labels_of_every_form_are_the_same_sets():
    tree = Hierarchy.of(TREE)
    expected = [{"animal", "mammal", "cat"}, {"animal", "bird"}]
    cells = np.array([[n in row for n in tree.nodes] for row in expected])
    forms = {
        "names": ["cat", "bird"],
        "sets": [{"cat"}, {"animal", "bird"}],
        "lists": [["animal", "mammal", "cat"], ["bird"]],
        "levels": np.array([["animal", "mammal", "cat"], ["animal", "bird", ""]]),
        "None": np.array([["animal", "mammal", "cat"], ["animal", "bird", None]], dtype=object),
        "dense": cells,
        "ints": cells.astype(int),
        "csr": sp.csr_matrix(cells.astype(np.float32)),
        "level_sets": np.array([[["animal", "mammal", "cat"]], [["animal", "bird", ""]]]),
    }
    for name, y in forms.items():
        assert nodes_of(read_nodes(y, 2, tree)) == expected, name


def test_labels_are_returned_in_the_form_that_they_had():
    paths = ["a/b/c", "a/d/e", "f/g/h", "a/b/i"]
    for y in (
        np.array(paths),
        np.array([p.split("/") for p in paths]),
        np.array([p.split("/") for p in paths], dtype=object),
        np.array([[[*p.split("/")]] for p in paths]),
        np.arange(4) + 10,
        np.array([[1, 2], [1, 3], [4, 5], [4, 6]]),
    ):
        found = read_nodes(y, 4, None)
        again = found.form.write(found.closed, found.hierarchy, True)
        assert again.dtype.kind == np.asarray(again).dtype.kind
        assert np.asarray(again).tolist() == y.tolist()
    sets = [("a/b", "a/d/e"), ("f",), ()]
    found = read_nodes(sets, 3, None)
    assert found.form.kind == "sets" and not found.form.is_closed
    assert found.form.write(found.closed, found.hierarchy, False) == sets
    closed = [("a", "a/b"), ("f",)]
    found = read_nodes(closed, 2, None)
    assert found.form.is_closed
    assert found.form.write(found.closed, found.hierarchy, False) == closed
    ragged = [("a", "b"), ("c",)]
    found = read_nodes(ragged, 2, None)
    assert found.form.kind == "paths"
    assert found.form.write(found.closed, found.hierarchy, True) == ragged
    tree = Hierarchy.of(TREE)
    for kind in (np.asarray, sp.csr_matrix):
        matrix = kind(tree.closure(np.eye(len(tree))).toarray().astype(np.int8))
        found = read_nodes(matrix, len(tree), tree)
        again = found.form.write(found.closed, tree, False)
        assert again.dtype == np.int8 and sp.issparse(again) == sp.issparse(matrix)
        assert (again != matrix).sum() == 0
    assert NodeForm.from_state(found.form.to_state()) == found.form


def test_padded_floats_are_integers_and_come_back_padded():
    y = np.array([[1.0, 2.0], [3.0, np.nan]])
    found = read_nodes(y, 2, None)
    assert found.hierarchy.nodes.tolist() == ["1", "1/2", "3"]
    again = found.form.write(found.closed, found.hierarchy, True)
    np.testing.assert_array_equal(again, y)


def test_a_list_is_a_path_or_a_set_as_it_fits_or_as_is_said():
    tree = Hierarchy.from_paths(["a/b", "b"])
    with pytest.raises(ValueError, match="ambiguous"):
        read_nodes([["a", "b"]], 1, tree)
    assert nodes_of(read_nodes([["a", "b"]], 1, tree, several=False)) == [{"a", "a/b"}]
    assert nodes_of(read_nodes([["a", "b"]], 1, tree, several=True)) == [{"a", "b"}]
    assert nodes_of(read_nodes([{"a", "b"}], 1, tree)) == [{"a", "b"}]
    assert nodes_of(read_nodes([[["a", "b"], ["b"]]], 1, tree)) == [{"a", "a/b", "b"}]
    with pytest.raises(ValueError, match="no node of the hierarchy"):
        read_nodes([["a", "x"]], 1, tree)


def test_unseen_paths_extend_a_hierarchy_of_paths_alone():
    tree = Hierarchy.from_paths(["a/b", "a/c"])
    truth, guess = tree.closures(["a/b", "z/y"], ["a/c", "a/b"])
    assert truth.shape == guess.shape == (2, 5)
    assert truth.toarray().sum(axis=1).tolist() == [2, 2]
    with pytest.raises(ValueError, match="no node"):
        Hierarchy.of(TREE).closures(["fox"])


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "requires y"),
        ("cat", TypeError, "sequence of labels"),
        (["fox", "cat"], ValueError, r"y\[0\] is 'fox', which is no node"),
        (["cat"], ValueError, "2 samples but y has 1"),
        ([None, "cat"], ValueError, "which is no label"),
        (["cat", ["dog"]], TypeError, r"y\[0\] is 'cat', but other labels are collections"),
        ([{"cat"}, {"fox"}], ValueError, r"y\[1\] is 'fox'"),
        (np.array([["animal", "bird", "cat"]] * 2), ValueError, "'cat' follows 'bird'"),
        (np.zeros((2, 3), bool), ValueError, "3 columns but the hierarchy has 6 nodes"),
        (sp.csr_matrix(np.full((2, 6), 2)), ValueError, "has the value 2"),
        (np.zeros((3, 6), bool), ValueError, "2 samples but y has 3 rows"),
        ([[["cat"]], [[["dog"]]]], TypeError, "hashable"),
    ],
)
def test_bad_labels(y, error, message):
    with pytest.raises(error, match=message):
        read_nodes(y, 2, Hierarchy.of(TREE))


def test_a_matrix_needs_a_hierarchy():
    with pytest.raises(ValueError, match="pass hierarchy"):
        read_nodes(np.zeros((2, 3), bool), 2, None)


# -- spaces --------------------------------------------------------------------------------------


def space_of(y, kind="auto", hierarchy=None):
    found = read_nodes(y, len(y), hierarchy)
    ends = found.hierarchy.most_specific(found.closed)
    kind = choose_space(kind, found.hierarchy, ends)
    return HierarchySpace.learn(found.hierarchy, found.closed, kind), found


def test_auto_is_the_smallest_space_that_holds_all_labels():
    assert space_of(["a/b", "a/c"])[0].kind == "leaf"
    assert space_of(["a/b", "a/c", "a"])[0].kind == "path"
    assert space_of([{"a/b", "a/c"}, {"a"}])[0].kind == "closed"


def test_unused_and_common_nodes_have_no_weights():
    tree = Hierarchy.of(TREE)
    space, _ = space_of(["cat", "dog", "cat"], hierarchy=tree)
    assert space.names.tolist() == ["cat", "dog"]
    assert tree.nodes[space.always].tolist() == ["animal", "mammal"]
    assert space.closed_of([1]).toarray()[0].tolist() == [
        n in ("animal", "mammal", "dog") for n in tree.nodes
    ]


def test_inner_labels_get_a_leaf_of_their_own():
    space, found = space_of(["a/b", "a", "a/c", "a/c/d"])
    assert space.kind == "path"
    assert space.classes.tolist() == ["a/b", "a/c/d", "a", "a/c"]
    assert space.is_stop.sum() == 2
    codes = space.codes(found.closed)
    assert (space.closed_of(codes) != found.closed).nnz == 0
    sets, found = space_of([{"a/b", "a/c"}, {"a"}, {"a/c/d"}], "paths")
    assert (sets.closed(sets.cells(found.closed)) != found.closed).nnz == 0
    leaves = sets.leaves
    assert (sets.cells(found.closed).toarray()[:, leaves].sum(axis=1) > 0).all()


def test_spaces_are_there_and_back_on_random_graphs(rng):
    for _ in range(200):
        names, edges = random_dag(rng, int(rng.integers(3, 10)))
        dag = Hierarchy.from_edges(edges, nodes=names)
        for kind in ("leaf", "path", "paths", "closed"):
            if kind in ("leaf", "path"):
                pool = dag.leaves if kind == "leaf" else dag.nodes
                y = rng.choice(pool, size=6).tolist()
            else:
                y = [
                    set(rng.choice(names, size=rng.integers(kind == "paths", 3))) for _ in "abcdef"
                ]
            found = read_nodes(y, 6, dag, several=True)
            if len({tuple(row) for row in found.closed.toarray().tolist()}) < 2:
                with pytest.raises(ValueError, match="at least 2"):
                    HierarchySpace.learn(dag, found.closed, kind)
                continue
            space = HierarchySpace.learn(dag, found.closed, kind)
            if space.has_one:
                again = space.closed_of(space.codes(found.closed))
            else:
                again = space.closed(space.cells(found.closed))
            assert (again != found.closed).nnz == 0
            state = space.to_state()
            restored = HierarchySpace.from_state(dag, state)
            assert restored.to_state() == state
            assert all(
                np.array_equal(a, b) for a, b in zip(restored.shape, space.shape, strict=True)
            )
            above = space.ancestry().toarray()
            for v in range(len(space)):
                own = space.shape.parents[space.shape.parent_at[v] : space.shape.parent_at[v + 1]]
                expected = np.zeros(len(space), bool)
                expected[v] = True
                for p in own:
                    expected |= above[p] > 0
                assert np.array_equal(above[v] > 0, expected)


@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        (["cat", "bird"], "leaf", "y\\[1\\] is the inner node 'bird'.*space='path'"),
        ([{"cat"}, set()], "path", "y\\[1\\] is empty.*'closed'"),
        ([{"cat"}, set()], "paths", "y\\[1\\] is empty.*'closed'"),
        ([{"cat", "owl"}, {"cat"}], "leaf", "2 most specific nodes, 'cat', 'owl'.*'paths'"),
        (["cat", "cat"], "leaf", "only one class, 'cat'"),
        ([set(), set()], "closed", "no label"),
        (["cat", "dog"], "tree", "space='tree' is not known"),
    ],
)
def test_bad_spaces(y, kind, message):
    with pytest.raises(ValueError, match=message):
        space_of(y, kind, Hierarchy.of(TREE))


def test_the_whole_space_has_nodes_that_do_not_occur():
    dag = Hierarchy.of(DIAMOND)
    space = HierarchySpace.whole(dag, "leaf")
    assert space.classes.tolist() == ["d", "e"]
    assert dag.nodes[space.always].tolist() == ["a", "c"]
    assert HierarchySpace.whole(dag, "closed").names.tolist() == dag.nodes.tolist()
    assert len(HierarchySpace.whole(dag, "path").classes) == 5
    with pytest.raises(ValueError, match="a label that the first examples did not have"):
        HierarchySpace.learn(dag, dag.closure(np.eye(5)[[3, 4]]), "path").codes(
            dag.closure(np.eye(5)[[1]])
        )
