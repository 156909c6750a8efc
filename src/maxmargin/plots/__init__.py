"""Pictures of a training run and of what was learnt, drawn with matplotlib.

Every function takes a fitted estimator or plain arrays and returns the Axes or Figure it drew on.
Nothing global changes: figures are made without pyplot and no rcParams are set, so the functions
are safe in servers and threads. Save a picture with ``ax.figure.savefig("name.png")``.

| function | picture |
|---|---|
| `convergence` | gap of one or several runs against passes, oracle calls or seconds |
| `convergence_panels` | all three, side by side |
| `race_panels` | primal and dual of racing solvers, relative to the optimum |
| `transitions` | heat map of a chain's transition weights |
| `weights` | each label's weights as an image |
| `label_plane` | how a search finds the most violating output of one example |
| `label_plane_steps` | the same, query by query |
| `labelled_graph` | labellings of a grid or graph side by side, wrong nodes marked |
| `graph_bounds` | bound and score of solvers of factor graphs against iterations |
| `hierarchy_weights` | the norm of each node's weights, drawn into the hierarchy |
| `hierarchy_confusion` | which label was taken for which, in the order of the hierarchy |
| `hierarchy_example` | one example's path, true and predicted |
| `parse_tree` | a dependency tree as arcs over words, wrong arcs marked |
| `demo_figure` | one page with convergence, transitions and weights |
"""

from __future__ import annotations

from maxmargin.plots._convergence import convergence, convergence_panels
from maxmargin.plots._demo import demo_figure
from maxmargin.plots._graphs import graph_bounds, labelled_graph
from maxmargin.plots._hierarchy import (
    hierarchy_confusion,
    hierarchy_example,
    hierarchy_weights,
)
from maxmargin.plots._label_plane import label_plane, label_plane_steps
from maxmargin.plots._parses import parse_tree
from maxmargin.plots._race import race_panels
from maxmargin.plots._transitions import transitions
from maxmargin.plots._weights import weights

__all__ = [
    "convergence",
    "convergence_panels",
    "demo_figure",
    "graph_bounds",
    "hierarchy_confusion",
    "hierarchy_example",
    "hierarchy_weights",
    "label_plane",
    "label_plane_steps",
    "labelled_graph",
    "parse_tree",
    "race_panels",
    "transitions",
    "weights",
]
