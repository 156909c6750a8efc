"""What the targets of models on graphs share: a model is read, scored and written again."""

from __future__ import annotations

import numpy as np

from fuzz.kit import reading
from maxmargin.io import read_graph

MOST_CELLS = 200_000
#: A few copies of the most cells, whatever the length of the input; and the words of the file.
MEMORY = (48 << 20, 200)


def use(data: bytes, format: str) -> None:
    """Read a model and use it as a solver would."""
    with reading(data, f".{format}") as path:
        found = read_graph(path, format=format, most_cells=MOST_CELLS)
    graph = found.graph
    for scores in (graph.unary, graph.tables):
        assert not np.isnan(scores).any() and not (scores == np.inf).any()
    shape = graph.shape
    assert len(graph.unary) == shape.unary_at[-1] <= MOST_CELLS
    assert (shape.n_labels > 0).all()
    assert len(shape.members) == 0 or 0 <= shape.members.min() <= shape.members.max() < len(
        shape.n_labels
    )
    for labels in (np.zeros_like(shape.n_labels), shape.n_labels - 1):
        assert graph.score(labels) < np.inf
    if found.names is not None:
        assert len(found.names) == len(found.values or ()) == graph.n_nodes
