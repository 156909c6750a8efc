"""Draw docs/images/graph_labels.png, graph_points.png, graph_bounds.png and graph_scene.png.

python benchmarks/graph_pictures.py

A noisy grid of four labels, labelled pixel by pixel and by a Potts model; a graph of random points
with its Delaunay edges, in the same way; and how SRMP, and branch and bound on it, close in on the
optimum of a 14 x 14 grid with random tables. Nothing is learnt in these, and no data folder is
needed. The last picture is a validation image of CamVid as superpixels, labelled by GraphSVM and by
a LinearSVC that sees each superpixel alone; it is drawn where the data are.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from graph_learning import COMMON, scaled, scales
from PIL import Image
from scipy.spatial import Delaunay
from sklearn.svm import LinearSVC

from maxmargin import GraphSVM, plots
from maxmargin.datasets import load_camvid, make_grid, make_noisy_grids
from maxmargin.inference import FactorGraph, solve_graph

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
SHAPE, N_LABELS, BONUS = (40, 56), 4, 1.1
#: Images that weights are learnt from, the validation image that is drawn, and the columns of its
#: features that say where a superpixel is.
N_SCENES, SCENE, ACROSS, DOWN = 120, 0, 6, 7


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    save(grid_figure(), folder / "graph_labels.png")
    save(points_figure(), folder / "graph_points.png")
    save(bounds_figure(), folder / "graph_bounds.png")
    try:
        data = load_camvid()
    except FileNotFoundError as reason:
        print(f"graph_scene.png is left as it is: {reason}")
    else:
        save(scene_figure(data), folder / "graph_scene.png")


def grid_figure() -> Any:
    """A noisy image: the truth, each pixel by itself, and the best labelling of the grid."""
    data = make_noisy_grids(2, SHAPE, N_LABELS, noise=0.9, smoothness=4.0, test_size=0.5)
    features, edges = data.X_train[0]
    truth = data.y_train[0]
    answer = solve_graph(FactorGraph(features, edges, BONUS * np.eye(N_LABELS)))
    return plots.labelled_graph(
        {"Truth": truth, "Each alone": features.argmax(axis=1), "Best labelling": answer.labels},
        shape=SHAPE,
        truth="Truth",
        labels=["sky", "house", "tree", "road"],
    )


def points_figure() -> Any:
    """Points of three kinds with the edges of their Delaunay triangulation."""
    rng = np.random.default_rng(3)
    points = rng.random((150, 2))
    centres = rng.random((6, 2))
    truth = np.argmin(((points[:, None] - centres) ** 2).sum(axis=2), axis=1) % 3
    corners = Delaunay(points).simplices
    pairs = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    edges = np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)
    short = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1) < 0.2
    edges = edges[short]
    unary = np.eye(3)[truth] + rng.normal(scale=0.8, size=(len(points), 3))
    answer = solve_graph(FactorGraph(unary, edges, 0.6 * np.eye(3)))
    return plots.labelled_graph(
        {"Truth": truth, "Each alone": unary.argmax(axis=1), "Best labelling": answer.labels},
        positions=points,
        edges=edges,
        truth="Truth",
    )


def bounds_figure() -> Any:
    """Bound and score of two methods on a grid whose relaxation is not tight."""
    graph = make_grid((14, 14), 5, "gauss", strength=1.5, random_state=1)
    progress: dict[str, list[tuple[int, float, float]]] = {"srmp": [], "branch": []}
    for method, told in progress.items():
        answer = solve_graph(
            graph, method, max_iter=200 if method == "srmp" else 20, most_nodes=5000,
            callback=lambda *row, told=told: told.append(row),
        )  # fmt: skip
        print(f"{method}: {answer.score} .. {answer.bound}, {answer.n_iterations}")
    return plots.graph_bounds(progress, optimum=answer.score if answer.is_exact else None).figure


def scene_figure(data: Any) -> Any:
    """A street scene: the truth, each superpixel alone, and all at once."""
    scale = scales(data.X_train)
    train, y = scaled(data.X_train[:N_SCENES], *scale), data.y_train[:N_SCENES]
    model = GraphSVM(**COMMON, C=0.05, max_iter=6).fit(train, y)
    codes = np.concatenate(y)
    rows = np.concatenate([nodes for nodes, _, _ in train])[codes >= 0]
    alone = LinearSVC(C=0.01).fit(rows, codes[codes >= 0])
    x, edges, _ = data.X_dev[SCENE]
    (nodes, _, _) = one = scaled([data.X_dev[SCENE]], *scale)[0]
    return plots.labelled_graph(
        {
            "Truth": data.y_dev[SCENE],
            "Each alone": alone.predict(nodes),
            "All at once": model.predict([one])[0],
        },
        positions=np.column_stack([x[:, ACROSS], -x[:, DOWN]]),
        edges=edges,
        truth="Truth",
        labels=data.classes,
    )


def save(figure: Any, path: Path) -> None:
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110)
    # Flat tints and text: 256 colours are enough, and make a file of half the size.
    coverage = Image.Quantize.MAXCOVERAGE
    Image.open(drawn).convert("RGB").quantize(256, coverage, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(f"{path}: {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
