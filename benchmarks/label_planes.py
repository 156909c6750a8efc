"""Pictures of searches on real data, for the docs: `python benchmarks/label_planes.py`.

Writes docs/images/label_plane_*.png (another folder: its name as the argument). Slack rescaling on
Yeast, all 2^14 label sets of one gene under full pairwise weights, and on handwritten words. The
examples are among those whose best output the hull search misses by the largest part: shown because
they make the point, not because they are typical. How many it misses is printed.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from maxmargin import ChainSVM, MultilabelSVM, plots
from maxmargin.datasets import load_ocr, load_yeast
from maxmargin.look.example import trace_example
from maxmargin.search import ConvexHull

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
HULL = ConvexHull(integral=False)
N_LOOKED_AT = 100


def most_missed(model: Any, X: Any, Y: Any, exact: str) -> int:
    """Return, of the five examples that the hull search misses most, the one of fewest queries."""
    shares, calls = np.ones((2, len(X)))
    for i in range(len(X)):
        best, found = (trace_example(model, X[i], Y[i], search) for search in (exact, HULL))
        calls[i] = found.n_calls
        if best.psi > 0.0:
            shares[i] = found.psi / best.psi
    missed = shares < 1.0 - 1e-9
    print(f"{type(model).__name__}: the hull search misses {missed.sum()} of {len(X)} maxima")
    # Of those where it finds something: an empty contour shows less.
    worst = np.argsort(np.where(shares > 0.0, shares, np.inf))[:5]
    return int(worst[np.argmin(calls[worst])])


def save(figure: Any, name: str, folder: Path) -> None:
    path = folder / f"label_plane_{name}.png"
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=90)
    # Flat tints and text: 256 colours are enough, and make a file of half the size.
    coverage = Image.Quantize.MAXCOVERAGE
    Image.open(drawn).convert("RGB").quantize(256, coverage, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    print(f"{path}: {path.stat().st_size / 1024:.0f} kB")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)

    genes = load_yeast(scale=True)
    X, Y = genes.X_train[:300], genes.y_train[:300]
    model = MultilabelSVM(C=0.01, pairwise="full", surrogate="slack", tol=0.05, random_state=0)
    model.fit(X, Y)
    i = most_missed(model, X[:N_LOOKED_AT], Y[:N_LOOKED_AT], "angular")
    save(plots.label_plane(model, X[i], Y[i], search=HULL).figure, "hull", folder)
    save(plots.label_plane_steps(model, X[i], Y[i], search="angular"), "angular", folder)
    save(plots.label_plane_steps(model, X[i], Y[i], search="bisecting"), "bisecting", folder)

    words = load_ocr("small")
    tagger = ChainSVM(C=0.01, surrogate="slack", tol=0.05, random_state=0)
    tagger.fit(words.X_train, words.y_train)
    long = [i for i, letters in enumerate(words.y_train) if len(letters) == 8][:N_LOOKED_AT]
    X, Y = [words.X_train[i] for i in long], [words.y_train[i] for i in long]
    i = most_missed(tagger, X, Y, "profile")
    save(plots.label_plane(tagger, X[i], Y[i], search="profile").figure, "word", folder)


if __name__ == "__main__":
    main()
