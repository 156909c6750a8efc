"""Draw the pictures of docs/hierarchies.md: twenty newsgroups, by the parts of their names.

python benchmarks/hierarchy_pictures.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from maxmargin import HierarchySVM, plots
from maxmargin.datasets import load_newsgroups

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


def main() -> None:
    warnings.simplefilter("ignore")
    data = load_newsgroups()
    model = HierarchySVM(C=0.1, separator=".", tol=0.05, random_state=0).fit(
        data.X_train, data.y_train
    )
    guess = model.predict(data.X_test)
    wrong = next(i for i in range(len(guess)) if guess[i] != data.y_test[i])
    for name, drawn in {
        "hierarchy_weights": plots.hierarchy_weights(model),
        "hierarchy_confusion": plots.hierarchy_confusion(data.y_test, guess, model.hierarchy_),
        "hierarchy_example": plots.hierarchy_example(model, data.X_test[wrong], data.y_test[wrong]),
    }.items():
        drawn.figure.savefig(IMAGES / f"{name}.png", dpi=80, bbox_inches="tight")


if __name__ == "__main__":
    main()
