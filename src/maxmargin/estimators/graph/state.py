"""What a model file holds of how graphs are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.graph.encoding import GraphReader
from maxmargin.estimators.graph.template import Template
from maxmargin.inputs.graph_rows import GraphKinds
from maxmargin.inputs.stored import Arrays, Fields

#: The vocabularies of types, by their names in `GraphKinds`.
TYPES = ("node_types", "edge_types", "hyper_types")


def reader_state(reader: GraphReader) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return (meta, arrays) for a model file; the classes are held by the estimator."""
    kinds = reader.kinds
    meta: dict[str, Any] = {
        "n_edge_columns": kinds.n_edge_columns,
        "n_hyper_columns": kinds.n_hyper_columns,
        "hyper_orders": list(kinds.hyper_orders),
    }
    for name in TYPES:
        types = getattr(kinds, name)
        if types is not None:
            meta[name] = types.classes
    if reader.template is None:
        return meta, {}
    own, arrays = reader.template.to_state()
    return {**meta, **own}, arrays


def stored_reader(fields: Fields, arrays: Arrays, n_features: int) -> GraphReader:
    """Return the reader whose `reader_state` gave these; refuse what it cannot have written."""
    labels = fields.labels("classes_", least=2)
    n_edge, n_hyper = fields.count("n_edge_columns"), fields.count("n_hyper_columns")
    orders = fields.take("hyper_orders")
    if not isinstance(orders, list) or not all(type(x) is int and 2 < x < 64 for x in orders):
        raise fields.refuse("hyper_orders", "numbers of nodes", orders)
    types = {name: fields.labels(name, least=1) for name in TYPES if name in fields}
    hyper = types.get("hyper_types")
    if hyper is not None and len(hyper) != len(orders):
        raise fields.refuse("hyper_orders", f"{len(hyper)} numbers", orders)
    template = None
    if "template" in fields:
        template = Template.from_state(fields.count("template", least=1), arrays)
    kinds = GraphKinds(n_features, n_edge, n_hyper, **types, hyper_orders=tuple(orders))
    return GraphReader(labels, kinds, template)
