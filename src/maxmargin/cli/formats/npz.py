"""Dense arrays in a .npz file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maxmargin.cli.formats.base import Batch, Reader


@dataclass(frozen=True)
class NpzReader(Reader):
    """Dense arrays; with `queries` a sequence is a query, and its rows are documents.

    With `graphs` a sample is a graph; its keys are those of `maxmargin.io.graphs.samples`.
    """

    format = "npz"
    title = "npz"
    queries: bool = False
    graphs: bool = False

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file; the estimator checks the number of features."""
        if self.graphs:
            from maxmargin.io.graphs.samples import read_graphs

            graphs, labels = read_graphs(path)
            return Batch(path, graphs, labels, True)
        from maxmargin.io.npz import read_npz_queries, stack

        X, y, names = read_npz_queries(path)
        if self.queries and isinstance(X, list):
            import numpy as np

            rows, offsets = stack(X)
            names = np.arange(len(X)) if names is None else names
            qid = np.repeat(names, np.diff(offsets))
            return Batch(path, rows, None if y is None else stack(y, "y")[0], False, qid=qid)
        return Batch(path, X, y, isinstance(X, list))
