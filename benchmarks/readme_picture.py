"""Draw docs/images/reading.png, the picture of README.md: the demo's strings, and a certificate.

python benchmarks/readme_picture.py
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from PIL import Image

from maxmargin import ChainSVM, MulticlassSVM
from maxmargin.datasets import load_digit_strings
from maxmargin.metrics import token_accuracy
from maxmargin.plots import _style

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "reading.png"
RIGHT, WRONG = _style.COLOURS[2], _style.COLOURS[1]
N_STRINGS, LENGTH = 3, 8
SIDE, GAP, ROW = 8, 2, 17  # pixels of a digit, between two, and of a string with its readings


def main() -> None:
    data = load_digit_strings(noise=0.3, seed=0)
    chain = ChainSVM(C=0.1, random_state=0).fit(data.X_train, data.y_train)
    digits = MulticlassSVM(C=0.1, random_state=0)
    digits.fit(np.concatenate(data.X_train), np.concatenate(data.y_train))
    readings = {
        "as a string": chain.predict(data.X_test),
        "digit by digit": [digits.predict(x) for x in data.X_test],
    }
    figure = _style.new_figure(10.5, 3.7)
    left, right = figure.subplots(1, 2, width_ratios=[1.55, 1.0])
    draw_strings(left, data, readings)
    draw_certificate(right, chain.result_)
    figure.savefig(drawn := io.BytesIO(), dpi=120)
    Image.open(drawn).convert("RGB").quantize(256).save(PICTURE, optimize=True)


def draw_strings(ax: Axes, data: Any, readings: dict[str, Any]) -> None:
    """Show strings that only the chain has read right, as images and as both have read them."""
    whole, single = readings.values()
    shares = [f"{token_accuracy(data.y_test, guess):.0%}" for guess in (whole, single)]
    _style.dress(ax, f"{shares[0]} of the digits right as strings, {shares[1]} one by one", "", "")
    ax.axis("off")
    chosen = [
        i
        for i, y in enumerate(data.y_test)
        if len(y) >= LENGTH and (whole[i] == y).all() and (single[i] != y)[:LENGTH].sum() >= 2
    ]
    for row, i in enumerate(chosen[:N_STRINGS]):
        top = row * ROW
        for t in range(LENGTH):
            x = t * (SIDE + GAP)
            pixels = data.X_test[i][t].reshape(SIDE, SIDE)
            ax.imshow(pixels, cmap="gray_r", extent=(x, x + SIDE, top + SIDE, top), vmin=0, vmax=1)
            for line, guess in enumerate((whole, single)):
                is_right = guess[i][t] == data.y_test[i][t]
                ax.text(
                    x + SIDE / 2, top + SIDE + 2.4 + 3.6 * line, str(guess[i][t]),
                    color=RIGHT if is_right else WRONG, fontweight="normal" if is_right else "bold",
                    fontsize=11, ha="center", va="center",
                )  # fmt: skip
        for line, name in enumerate(readings):
            ax.text(
                LENGTH * (SIDE + GAP), top + SIDE + 2.4 + 3.6 * line, name,
                fontsize=_style.LABEL, color=_style.INK, va="center",
            )  # fmt: skip
    ax.set_xlim(-1, LENGTH * (SIDE + GAP) + 22)
    ax.set_ylim(N_STRINGS * ROW, -1)
    ax.set_aspect("equal")


def draw_certificate(ax: Axes, result: Any) -> None:
    """Show the objective and its lower bound as they close in on the optimum."""
    known = [record for record in result.history if np.isfinite(record.gap)]
    passes = [record.pass_ for record in known]
    primal, dual = (np.array([getattr(r, name) for r in known]) for name in ("primal", "dual"))
    title = f"Certified within {result.relative_gap:.1%} of the optimum"
    _style.dress(ax, title, "Passes over the strings", "")
    ax.fill_between(passes, dual, primal, color=_style.COLOURS[0], alpha=0.12, linewidth=0)
    for values, text, at, below in (
        (primal, "objective of the weights", 3, 16),
        (dual, "lower bound of the optimum", 3, -24),
    ):
        ax.plot(passes, values, color=_style.COLOURS[0], marker="o", markersize=3.5, linewidth=1.6)
        ax.annotate(
            text, (passes[at], values[at]), xytext=(14, below), textcoords="offset points",
            fontsize=_style.LABEL, color=_style.COLOURS[0],
        )  # fmt: skip
    ax.annotate(
        "optimum\nbetween", (passes[0], (primal[1] + dual[1]) / 2), xytext=(7, 0),
        textcoords="offset points", fontsize=_style.TICK, color=_style.MUTED, va="center",
    )  # fmt: skip
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0)


if __name__ == "__main__":
    main()
