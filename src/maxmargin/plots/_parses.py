"""Dependency trees as arcs over words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Patch

from maxmargin.plots import _style

__all__ = ["parse_tree"]

_LETTER = 0.105  # inches per letter of a word
_GAP = 0.35  # inches between words
_LEVEL = 0.42  # inches per level of arcs
_RIGHT, _WRONG, _MISSED = "#2f6f9f", "#c44e52", "#999999"


def parse_tree(
    words: Sequence[Any], tree: Sequence[Any], truth: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw a tree as arcs over the words; where the truth is given, wrong arcs are marked.

    An arc leads from the head to the word. Right arcs are blue; wrong ones red, with the true arc
    dotted below the words; a wrong relation of a right arc is red.

    Parameters
    ----------
    words : sequence of str, or of tokens as `ParserSVM` takes them
    tree : sequence of heads, or of pairs (head, relation)
    truth : the same, or None
    ax : matplotlib Axes or None
        None makes a figure that is wide enough.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from maxmargin import plots
    >>> ax = plots.parse_tree(["Dogs", "bark"], [(2, "nsubj"), (0, "root")])
    >>> [text.get_text() for text in ax.texts]
    ['Dogs', 'bark', 'nsubj', 'root']
    """
    forms = [_form(word) for word in words]
    arcs = [_pair(arc) for arc in tree]
    true_arcs = arcs if truth is None else [_pair(arc) for arc in truth]
    if not len(forms) == len(arcs) == len(true_arcs):
        raise ValueError(
            f"There are {len(forms)} words, {len(arcs)} heads and {len(true_arcs)} true heads; "
            "expected as many of each."
        )
    widths = [max(len(form), 3) * _LETTER + _GAP for form in forms]
    center, right = [], 0.0
    for width in widths:
        center.append(right + width / 2)
        right += width
    levels = _levels([head for head, _ in arcs])
    missed = [a[0] != b[0] for a, b in zip(arcs, true_arcs, strict=True)]
    below = _levels([head for head, _ in true_arcs]) if any(missed) else [0]
    top = (max(levels) + 1.2) * _LEVEL
    bottom = -0.35 - (max(b for b, m in zip(below, missed, strict=True) if m) + 1) * _LEVEL if any(
        missed
    ) else -0.4  # fmt: skip
    if ax is None:
        ax = _style.new_figure(max(right, 3.0), top - bottom + 0.3).add_subplot()
    for m, form in enumerate(forms):
        ax.text(center[m], -0.12, form, ha="center", va="top", fontsize=10)
    for m, ((head, relation), true_arc) in enumerate(zip(arcs, true_arcs, strict=True)):
        is_right = head == true_arc[0]
        colour = _RIGHT if is_right else _WRONG
        height = (levels[m] + 0.6) * _LEVEL
        _draw_arc(ax, center, head, m, height, colour, "-", top)
        is_named = relation is not None and relation == true_arc[1]
        name_colour = _RIGHT if is_right and (is_named or relation is None) else _WRONG
        if relation is not None:
            place = center[m] if head == 0 else (center[head - 1] + center[m]) / 2
            at = top + 0.02 if head == 0 else height
            ax.text(place, at, str(relation), ha="center", va="bottom", fontsize=7.5,
                    color=name_colour)  # fmt: skip
        if not is_right:
            depth = -0.35 - (below[m] + 0.6) * _LEVEL
            _draw_arc(ax, center, true_arc[0], m, depth, _MISSED, ":", bottom)
    if truth is not None:
        handles = [
            Patch(color=_RIGHT, label="right"), Patch(color=_WRONG, label="wrong"),
            Patch(color=_MISSED, label="true, missed"),
        ]  # fmt: skip
        ax.legend(handles=handles, loc="upper right", fontsize=7, frameon=False, ncols=3)
    ax.set_xlim(0, right)
    ax.set_ylim(bottom, top + 0.3)
    ax.axis("off")
    return ax


def _form(word: Any) -> str:
    if isinstance(word, str):
        return word
    return str(word["form"] if hasattr(word, "keys") else word[1])


def _pair(arc: Any) -> tuple[int, Any]:
    return (int(arc[0]), arc[1]) if isinstance(arc, (tuple, list)) else (int(arc), None)


def _levels(heads: Sequence[int]) -> list[int]:
    """Return how high each arc is drawn: above all arcs that it spans."""
    spans = [(min(h, m), max(h, m)) for m, h in enumerate(heads, start=1)]
    levels = [0] * len(heads)
    for k in sorted(range(len(heads)), key=lambda k: spans[k][1] - spans[k][0]):
        if heads[k] == 0:
            continue
        low, high = spans[k]
        inner = [
            levels[j] + 1
            for j, (a, b) in enumerate(spans)
            if j != k and heads[j] != 0 and low <= a and b <= high and b - a < high - low
        ]
        levels[k] = max(inner, default=0)
    return levels


def _draw_arc(
    ax: Axes, center: list[float], head: int, m: int, height: float, colour: str, line: str,
    edge: float,
) -> None:  # fmt: skip
    """Draw an arc as three straight lines with round corners; from the root, a line down."""
    start = 0.0 if height > 0 else -0.35
    if head == 0:
        points = [(center[m], edge), (center[m], start)]
        patch = FancyArrowPatch(
            points[0], points[1], arrowstyle="-|>", mutation_scale=8, color=colour, linestyle=line,
            linewidth=1.1, shrinkA=0, shrinkB=0,
        )  # fmt: skip
        ax.add_patch(patch)
        return
    # Arcs leave a word at its sides and arrive in its middle, so that no two lie on one another.
    x0, x1 = center[head - 1] + (-0.13 if head - 1 > m else 0.13), center[m]
    ax.plot([x0, x0, x1, x1], [start, height, height, start + (0.08 if height > 0 else -0.08)],
            color=colour, linestyle=line, linewidth=1.1, solid_joinstyle="round")  # fmt: skip
    tip = FancyArrowPatch(
        (x1, height), (x1, start), arrowstyle="-|>", mutation_scale=8, color=colour, linewidth=0,
        shrinkA=0, shrinkB=0,
    )  # fmt: skip
    ax.add_patch(tip)
