"""Hierarchies: one place in a tree or DAG per row, or several."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.console import percent
from maxmargin.cli.formats import Batch, ClusReader, NpzReader, SvmlightReader
from maxmargin.cli.kinds.base import NOTHING, Kind, noise
from maxmargin.cli.kinds.multiclass import MISSING
from maxmargin.cli.options import OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

_PANEL = "Hierarchies"
#: Scores of rows and nodes beyond which AUPRC is left out: they would take more than a gigabyte.
MOST_SCORES = 20_000_000

_HIERARCHY = OwnOptions(
    {
        "hierarchy": Annotated[
            Path | None,
            typer.Option(
                help="A file with the edges of the hierarchy, two names per line; else an ARFF "
                "file of CLUS has its own, and labels such as a/b/c tell theirs.",
                rich_help_panel=_PANEL,
            ),
        ],
        "edge_order": Annotated[
            str | None,
            typer.Option(
                help="Which name comes first in --hierarchy: parent or child; else parent.",
                rich_help_panel=_PANEL,
            ),
        ],
        "level_separator": Annotated[
            str | None,
            typer.Option(
                help="What parts the levels of labels such as a/b/c; else a slash.",
                rich_help_panel=_PANEL,
            ),
        ],
        "space": Annotated[
            str | None,
            typer.Option(
                help="The outputs there are: leaf, path, paths or closed; else the first of leaf, "
                "path and closed that holds all labels.",
                rich_help_panel=_PANEL,
            ),
        ],
        "alpha": Annotated[
            str | None,
            typer.Option(
                help="Weights of nodes in the norm: maxmin, none, rho, flat, or "
                "shared, which are learnt; else maxmin for single places, none for sets.",
                rich_help_panel=_PANEL,
            ),
        ],
        "rho": Annotated[
            float | None,
            typer.Option(help="The exponent of --alpha rho; else 2.", rich_help_panel=_PANEL),
        ],
        "merge": Annotated[
            bool | None,
            typer.Option(
                "--merge",
                help="Nodes that are on the same paths share one weight in the norm.",
                rich_help_panel=_PANEL,
            ),
        ],
        "weights_of": Annotated[
            str | None,
            typer.Option(
                help="What has weights: nodes, edges (a block for each labelling of their ends), "
                "or paths (partial paths besides); else nodes.",
                rich_help_panel=_PANEL,
            ),
        ],
        "feature_weights": Annotated[
            Path | None,
            typer.Option(
                help="A file with the weight of each feature in the norm, one number per line; a "
                "feature of weight 0 is not used. Else all are 1.",
                rich_help_panel=_PANEL,
            ),
        ],
        "missed_weight": Annotated[
            float | None,
            typer.Option(
                help="Of sets of nodes: how often a node that is missed counts in the loss beside "
                "one too many; else 1.",
                rich_help_panel=_PANEL,
            ),
        ],
    },
    "is for hierarchies (`train hierarchy`), which `train {kind}` does not learn",
)


_CUT = OwnOptions(
    {
        "threshold": Annotated[
            float | None,
            typer.Option(
                help="Keep only nodes without which all outputs score lower by more than this; "
                "of sets, below 0 adds nodes.",
                rich_help_panel=_PANEL,
            ),
        ],
    },
    refusal="is for hierarchies, and {model} holds none",
)


def _regularizer(path: Path) -> Any:
    """Return the norm whose weights of features a file holds."""
    from maxmargin.regularizers import Diagonal

    alpha = []
    for k, line in enumerate(path.read_text(encoding="utf-8").split()):
        try:
            alpha.append(float(line))
        except ValueError:
            raise ValueError(
                f"{path} must hold one number per line, got {line!r} as number {k + 1}."
            ) from None
    return Diagonal(alpha)


def weight_lengths(coef: Any) -> Any:
    """Return the length of the weights of each node or edge, dense or sparse."""
    import numpy as np

    if hasattr(coef, "toarray"):
        return np.sqrt(np.asarray(coef.multiply(coef).sum(axis=1)).ravel())
    return np.linalg.norm(np.reshape(coef, (len(coef), -1)), axis=1)


def _auprc(estimator: Any, batch: Batch) -> float | None:
    """Return the AUPRC of `node_scores`.

    None of sets in a DAG, where a score is two searches, and of more than MOST_SCORES.
    """
    import numpy as np

    from maxmargin import metrics

    own = estimator.hierarchy_
    if estimator.space_ not in ("leaf", "path") and not own.is_forest:
        return None
    if batch.n_samples * len(own) > MOST_SCORES:
        return None
    labels = estimator._reader.read(batch.y, batch.n_samples, extend=True)
    if labels.closed.nnz == 0:
        return None
    scores = np.full(labels.closed.shape, -np.inf)  # of labels that the model does not know too
    index = labels.hierarchy.labels.index
    scores[:, [index[name] for name in own.nodes.tolist()]] = estimator.node_scores(batch.X)
    return float(metrics.auprc(labels.closed, scores))


class Hierarchy(Kind):
    """Rows that have one place in a hierarchy each, or several."""

    name = "hierarchy"
    estimator = "HierarchySVM"
    about = "a place in a tree or DAG, or several"
    options = {"train": (_HIERARCHY, MISSING), "predict": (_CUT,), "evaluate": (_CUT,)}
    parameters = {
        "level_separator": "separator",
        "space": "space",
        "alpha": "alpha",
        "rho": "rho",
        "merge": "merge",
        "weights_of": "model",
        "missed_weight": "missed_weight",
        "missing": "missing",
    }
    readers = {
        "svmlight": SvmlightReader(multilabel=True),
        "npz": NpzReader(),
        "clus": ClusReader(),
    }
    blocks = ("intercept_", "alpha_")
    told = {
        "scoring": "accuracy of single places in a hierarchy and F1 of nodes of several",
        "evaluate": "Hierarchies: exact sets (accuracy), tree distance, hierarchical precision, "
        "recall and F1, macro-F1 of nodes, AUPRC (not of sets in a DAG).",
    }

    def format_of(self, path: Path) -> str:
        """Return the format that a file's name announces; ARFF files are those of CLUS here."""
        name = super().format_of(path)
        return "clus" if name == "arff" else name

    def settings(self, params: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters, with the hierarchy of a file."""
        found = super().settings(params, own)
        if own.get("feature_weights") is not None:
            found["regularizer"] = _regularizer(own["feature_weights"])
        order = own.get("edge_order")
        if order is not None and own.get("hierarchy") is None:
            raise ValueError("--edge-order is for the file that --hierarchy names.")
        if order not in (None, "parent", "child"):
            raise ValueError(f"--edge-order must be parent or child, got {order!r}.")
        if own.get("hierarchy") is not None:
            from maxmargin.inputs.hierarchy import Hierarchy as Nodes
            from maxmargin.io import read_edges

            first = "child parent" if order == "child" else "parent child"
            found["hierarchy"] = Nodes.from_edges(read_edges(own["hierarchy"], order=first))
        return found

    def adapt(self, batch: Batch, estimator: Any) -> Batch:
        """Give the estimator the hierarchy of the training file, where it has none."""
        is_new = not hasattr(estimator, "result_")
        if batch.source is not None and estimator.hierarchy is None and is_new:
            from maxmargin.inputs.hierarchy import Hierarchy as Nodes

            nodes, edges = batch.source
            estimator.set_params(hierarchy=Nodes.from_edges(edges, nodes))
        return batch

    def content(self, reader: Any, batch: Batch) -> str:
        """Say how many samples there are, and how large a hierarchy the file has."""
        if batch.source is None:
            return super().content(reader, batch)
        nodes, edges = batch.source
        return f"{batch.n_samples} samples, a hierarchy of {len(nodes)} nodes, {len(edges)} edges"

    def prediction(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the threshold that was asked for."""
        return {name: own[name] for name in _CUT.options if own.get(name) is not None}

    def as_written(self, guess: Any, estimator: Any) -> Any:
        """Return predictions as names of nodes or tuples of them; levels joined to paths."""
        if hasattr(guess, "toarray") or getattr(guess, "ndim", 1) > 1:
            found = estimator.hierarchy_.closures(guess)[0]
            from maxmargin.inputs.hierarchy.labels import NodeForm

            has_one = estimator.space_ in ("leaf", "path")
            form = NodeForm("names" if has_one else "sets")
            return form.write(found, estimator.hierarchy_, has_one)
        return guess

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return the scores of places in a hierarchy."""
        from maxmargin import metrics

        hierarchy = model.estimator.hierarchy_
        truth, found = hierarchy.closures(batch.y, guess)
        return {
            "n_samples": int(truth.shape[0]),
            "n_nodes": int(truth.shape[1]),
            "exact_sets": metrics.exact_sets(truth, found),
            "tree_distance": metrics.tree_distance(truth, found),
            "precision": metrics.hierarchical_precision(truth, found),
            "recall": metrics.hierarchical_recall(truth, found),
            "f1": metrics.hierarchical_f1(truth, found),
            "node_macro_f1": metrics.node_macro_f1(truth, found),
            "auprc": _auprc(model.estimator, batch),
        }

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return one table of all scores."""
        rows = {
            "samples": found["n_samples"],
            "nodes": found["n_nodes"],
            "exact sets": percent(found["exact_sets"]),
            "tree distance": f"{found['tree_distance']:.3f}",
            "hierarchical precision": percent(found["precision"]),
            "hierarchical recall": percent(found["recall"]),
            "hierarchical F1": percent(found["f1"]),
            "macro-F1 of nodes": percent(found["node_macro_f1"]),
        }
        if found["auprc"] is not None:
            rows["AUPRC"] = f"{found['auprc']:.3f}"
        return [console.facts(title, rows)]

    def weights(self, path: Path, estimator: Any, labels: list[str] | None) -> Any:
        """Return the weights of each node by its name; of a leaf for its parent with a mark."""
        names = self._names(estimator)
        for label in labels or ():
            if label not in names:
                shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
                raise ValueError(f"--label: {label!r} is none of {shown}.")
        coef = estimator.coef_
        if hasattr(coef, "toarray"):
            named = labels or []  # of very many nodes none are shown unasked
            return {name: coef[names.index(name)].toarray()[0] for name in named}
        if coef.ndim == 4:  # of an edge: how much better its child is in than out, below its parent
            coef = coef[:, :, 1, 1] - coef[:, :, 1, 0]
        rows = zip(names, coef, strict=True)
        return {name: row for name, row in rows if not labels or name in labels}

    def _names(self, estimator: Any) -> list[str]:
        """Return the names of what has weights."""
        if hasattr(estimator, "edges_"):
            return [f"{'' if a is None else a} > {b}" for a, b in estimator.edges_]
        is_stop = estimator._reader.space.is_stop
        return [
            f"{name} (ends here)" if stop else str(name)
            for name, stop in zip(estimator.nodes_, is_stop, strict=True)
        ]

    def facts(self, estimator: Any) -> dict[str, Any]:
        """Return the hierarchy and the space of a model."""
        found = {"hierarchy": repr(estimator.hierarchy_), "space": estimator.space_}
        if hasattr(estimator.coef_, "toarray"):
            found["weights"] = (
                f"sparse, {estimator.coef_.nnz} numbers; --label shows those of a node"
            )
        return found

    def weight_tables(self, estimator: Any, top: int) -> list[Any]:
        """Return the nodes or edges whose weights are longest."""
        import numpy as np

        norms, names = weight_lengths(estimator.coef_), self._names(estimator)
        order = np.argsort(-norms, kind="stable")[: 5 * top]
        if hasattr(estimator, "edges_"):
            edges = [[names[e], f"{norms[e]:.4f}"] for e in order]
            return [console.grid("Longest weights", ["edge", "norm"], edges, n_text=1)]
        cells = [[names[v], f"{norms[v]:.4f}", f"{estimator.alpha_[v]:.4f}"] for v in order]
        return [console.grid("Longest weights", ["node", "norm", "alpha"], cells, n_text=1)]

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return rows, and leaves of two levels."""
        X, y = noise(storage, dtype)
        return X, [f"{'ab'[label % 2]}/{label}" for label in y.tolist()]
