"""Graphs: one label per node, read from npz files of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.console import percent
from maxmargin.cli.formats import Batch, NpzReader, Reader
from maxmargin.cli.kinds.base import NOTHING, Kind
from maxmargin.cli.options import LEARNING, OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

_MOST_LABELS = 24  # labels up to which the table of an edge fits a terminal

_GRAPHS = OwnOptions(
    {
        "pairs": Annotated[
            str | None,
            typer.Option(
                help="What the tables of edges of graphs are: full, symmetric, antisymmetric or "
                "potts; else full.",
                rich_help_panel=LEARNING,
            ),
        ],
        "training": Annotated[
            str | None,
            typer.Option(
                help="Which labellings of graphs with cycles compete in training: integral, or "
                "relaxed; else integral.",
                rich_help_panel=LEARNING,
            ),
        ],
    },
    refusal="is not for {estimator}, which has no such parameter",
)

_SOLVING = OwnOptions(
    {
        "method": Annotated[
            str | None,
            typer.Option(
                help="How graphs are solved: auto, junction, ilp, srmp, ...; else as in training."
            ),
        ],
        "rounding": Annotated[
            str | None,
            typer.Option(
                help="Round a relaxation of graphs: max, conditional, complete, interval or "
                "kleinberg_tardos; else they are searched."
            ),
        ],
        "time_limit": Annotated[
            float | None,
            typer.Option(help="Seconds per graph, of --method and --rounding; else 10."),
        ],
    },
    refusal="is for graphs, and {model} holds none",
)


class Graph(Kind):
    """Graphs, each with one label per node."""

    name = "graph"
    estimator = "GraphSVM"
    about = "a label for each node of a graph"
    is_sequence = True
    options = {"train": (_GRAPHS,), "predict": (_SOLVING,), "evaluate": (_SOLVING,)}
    parameters = {"pairs": "pairs", "training": "training"}
    readers = {"npz": NpzReader(graphs=True)}
    blocks = ("intercept_", "edge_coef_", "edge_intercept_")
    told = {
        "scoring": "the share of right nodes of graphs",
        "evaluate": "Graphs: accuracy of nodes whose label is known, and recall of each label.",
    }

    def scoring(self, estimator: Any, held_out: Batch) -> Any:
        """Return what was asked for, or the accuracy of nodes, which the table at the end shows."""
        return "node_accuracy" if estimator.scoring is None else estimator.scoring

    def content(self, reader: Reader | None, batch: Batch) -> str:
        """Say how many graphs, nodes and edges there are."""
        n_nodes = sum(len(graph[0]) for graph in batch.X)
        n_edges = sum(len(graph[1]) for graph in batch.X)
        return f"{batch.n_samples} graphs of {n_nodes} nodes and {n_edges} edges in all"

    def prediction(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the method of inference, or the rounding, that was asked for."""
        return {name: own[name] for name in _SOLVING.options if own.get(name) is not None}

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return accuracy, and recall of each label, over nodes whose label is known."""
        import numpy as np

        from maxmargin.metrics import mean_recall, node_accuracy

        truth, found = np.concatenate(batch.y), np.concatenate(guess)
        known = truth != -1
        labels = np.unique(truth[known])
        recall = {
            str(label): {
                "recall": float(np.mean(found[truth == label] == label)),
                "n_true": int(np.count_nonzero(truth == label)),
            }
            for label in labels
        }
        return {
            "n_graphs": len(batch.y),
            "n_nodes": int(known.sum()),
            "node_accuracy": node_accuracy(batch.y, guess),
            "mean_recall": mean_recall(batch.y, guess),
            "by_class": recall,
        }

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return a table of accuracies, and one of labels."""
        rows = {
            "graphs": found["n_graphs"],
            "known nodes": found["n_nodes"],
            "node accuracy": percent(found["node_accuracy"]),
            "mean recall": percent(found["mean_recall"]),
        }
        cells = [
            [name, percent(own["recall"]), own["n_true"]] for name, own in found["by_class"].items()
        ]
        labels = console.grid("Labels", ["label", "recall", "nodes"], cells)
        return [console.facts(title, rows), labels]

    def weight_tables(self, estimator: Any, top: int) -> list[Any]:
        """Return the constant table of edges, where it is small enough."""
        names = [str(label) for label in estimator.classes_]
        if len(names) > _MOST_LABELS:
            return []
        table = estimator.edge_tables_[0, -1]
        rows = [
            [name, *(f"{value:+.2f}" for value in row)]
            for name, row in zip(names, table, strict=True)
        ]
        return [console.grid("Edges, constant part", ["first \\ second", *names], rows)]

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return three rings of four nodes, with features of edges."""
        import numpy as np
        import scipy.sparse as sp

        rng = np.random.default_rng(0)
        wrap: Any = sp.csr_matrix if storage == "sparse" else np.asarray
        edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
        X = [
            (
                wrap(rng.normal(size=(4, 3)).astype(dtype)),
                edges,
                wrap(rng.normal(size=(4, 2)).astype(dtype)),
            )
            for _ in range(3)
        ]
        return X, [rng.permutation(4) for _ in range(3)]
