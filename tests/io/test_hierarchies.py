"""Files with hierarchies: ARFF of CLUS and lists of edges."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

from maxmargin.io import read_clus, read_edges, read_svmlight, write_edges

HEAD = "@RELATION r\n% a comment\n@ATTRIBUTE a numeric\n@ATTRIBUTE 'b b' NUMERIC\n"


def clus(hierarchy, rows, head=HEAD):
    return io.StringIO(f"{head}@ATTRIBUTE class hierarchical {hierarchy}\n\n@DATA\n{rows}")


def test_a_tree_with_missing_values():
    data = read_clus(clus("1,1/2,1/2/3,4", "0.5,?,1/2/3@4\n% no row\n?,1e-3,1@1/2\n"))
    np.testing.assert_array_equal(data.X, [[0.5, np.nan], [np.nan, 1e-3]])
    assert data.y == [("1/2/3", "4"), ("1", "1/2")]
    assert data.nodes == ["1", "1/2", "1/2/3", "4"] and data.is_tree
    assert data.edges == [("1/2", "1"), ("1/2/3", "1/2")]
    assert data.feature_names == ["a", "b b"]


def test_a_dag_and_a_tree_of_two_levels_are_told_apart():
    dag = read_clus(clus("root/a,root/b,a/c,b/c", "1,2,c\n"))
    assert not dag.is_tree and ("c", "a") in dag.edges and ("c", "b") in dag.edges
    tree = read_clus(clus("a,a/b,c,c/d", "1,2,a/b@c\n"))
    assert tree.is_tree and tree.nodes == ["a", "a/b", "c", "c/d"]
    assert read_clus(clus("root/a,root/b", "1,2,a\n"), kind="dag").nodes == ["root", "a", "b"]
    with pytest.raises(ValueError, match="has 'root/a' but not 'root' above it"):
        read_clus(clus("root/a,root/b", "1,2,root/a\n"), kind="tree")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (clus("1,1/2", "1,2,3\n"), "line 8: the label '3' is no node"),
        (clus("1,1/2", "1,2,?\n"), "line 8: the row has no label"),
        (clus("1,1/2", "1,2,\n"), "line 8: the row has no label"),
        (clus("1,1/2", "1,1\n"), "line 8: expected 2 values"),
        (clus("1,1/2", "x,1,1\n"), "line 8, attribute 'a': expected a number, got 'x'"),
        (clus("1,1/2", "1\n"), "line 8: expected values and labels"),
        (clus("1,1//2", "1,2,1\n"), "entry '1//2'"),
        (clus("1,1/2/3", "1,2,1\n"), "'1/2/3' but not '1/2' above it"),
        (clus("1", ""), "holds no sample"),
        (clus("1,1/2", "1,2,1\n{0 1, 2 1/2}\n"), r"line 9: a sparse row, '\{0 1, 2 1/2\}'; rows"),
        (clus("a/b,c/d", "1,2,a/b\n"), "'a/b' is no node .* edge of a DAG.* kind='tree'"),
        (io.StringIO(HEAD + "@data\n1,2\n"), "one of type hierarchical"),
        (io.StringIO(HEAD), "no @data"),
        (clus("1\n@attribute late numeric", "1,2,1\n"), "must be the last"),
        (clus("1", "1,2,1\n", HEAD + "@attribute a numeric\n"), "comes twice"),
        (clus("1", "1,2,1\n", HEAD + "@attribute c {x,y}\n"), "nominal values other than"),
    ],
)
def test_bad_clus_files(source, message):
    with pytest.raises(ValueError, match=message):
        read_clus(source)


def test_unknown_kind():
    with pytest.raises(ValueError, match="kind='graph' is not known"):
        read_clus(clus("1", "1,2,1\n"), kind="graph")


def test_the_real_files(data_dir):
    path = data_dir / "hmc_cellcycle_go" / "cellcycle_GO.train.arff.gz"
    data = read_clus(path)
    assert data.X.shape == (1625, 77) and np.isnan(data.X).sum() == 7572
    assert len(data.nodes) == 4126 and len(data.edges) == 5827 and not data.is_tree
    path = data_dir / "hmc_imclef07a" / "ImCLEF07A_Train.arff.gz"
    data = read_clus(path)
    assert data.X.shape == (10000, 80) and len(data.nodes) == 96 and data.is_tree
    assert all(len(row) == 3 for row in data.y)


def test_edges_there_and_back(tmp_path):
    edges = [("big cat", "cat"), ("cat", "animal")]
    write_edges(tmp_path / "tree.txt", edges)
    assert read_edges(tmp_path / "tree.txt") == edges
    with gzip.open(tmp_path / "tree.gz", "wb") as file:
        file.write(b"# parents first\n1 2\n\n1 3\n")
    assert read_edges(tmp_path / "tree.gz") == [(2, 1), (3, 1)]
    assert read_edges(io.StringIO("2,1\n3,1\n"), order="child parent") == [(2, 1), (3, 1)]
    assert read_edges(io.StringIO("01 2\n")) == [("2", "01")]


@pytest.mark.parametrize("text", ["1\n", "1 2 3\n", "1\t\n"])
def test_bad_edges(text):
    with pytest.raises(ValueError, match="line 1: expected two names"):
        read_edges(io.StringIO(text))


def test_more_bad_edges(tmp_path):
    with pytest.raises(ValueError, match="holds no edge"):
        read_edges(io.StringIO("# nothing\n"))
    with pytest.raises(ValueError, match="order='up' is not known"):
        read_edges(io.StringIO("1 2\n"), order="up")
    for node, message in (("a\tb", "cannot be written"), ("", "cannot be"), ("#a", "comment")):
        with pytest.raises(ValueError, match=message):
            write_edges(tmp_path / "x", [(node, "p")])


def test_an_lshtc_pair_of_files_is_a_hierarchy_and_its_labels():
    from maxmargin.inputs.hierarchy import Hierarchy
    from maxmargin.inputs.hierarchy.labels import read_nodes

    edges = read_edges(io.StringIO("1 2\n1 3\n2 4\n2 5\n"))
    X, y = read_svmlight(io.BytesIO(b"4,3 1:1 7:2\n5 2:1\n"), multilabel=True)
    found = read_nodes(y, X.shape[0], Hierarchy.from_edges(edges))
    names = found.hierarchy.nodes
    assert [set(names[row == 1]) for row in found.closed.toarray()] == [{1, 2, 3, 4}, {1, 2, 5}]
