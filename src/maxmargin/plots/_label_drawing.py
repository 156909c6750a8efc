"""Drawing a scene of `label_plane`: regions, contours, points, lines, and their explanation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon
from matplotlib.ticker import MaxNLocator

from maxmargin.look.points import psi_of
from maxmargin.look.scene import Scene, Spot, asked, number
from maxmargin.plots import _style
from maxmargin.plots._half_planes import HalfPlane, clip, segment
from maxmargin.search.trace import Query

_OPEN = "#FFE98A"  # where a better output could still be
_BEST = "#C00000"
_DOTS = "#444444"
_DOTTED = (0, (1, 1.2))
_MOST_NAMED = 10  # queries that the legend lists
_GRID = 260  # points a side at which psi is computed


def draw_plane(ax: Axes, scene: Scene) -> None:
    """Draw everything but title and legend."""
    _style.dress(ax, "", *scene.names)
    ax.set_xlim(*scene.x)
    ax.set_ylim(*scene.y)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    _draw_contours(ax, scene)
    for place in reversed(range(len(scene.queries))):
        # The first query that excludes a place gives it its colour: so the first comes last.
        _shade(ax, scene, scene.queries[place], _style.query_colour(place))
    _draw_points(ax, scene)
    lines = _Lines(scene)
    for place, query in enumerate(scene.queries):
        _draw_line(ax, lines, query, place)
    _draw_answers(ax, lines)


# -- regions and contours ------------------------------------------------------------------------


def _draw_contours(ax: Axes, scene: Scene) -> None:
    across = np.linspace(*scene.x, _GRID)
    upwards = np.linspace(*scene.y, _GRID)
    g, tall = np.meshgrid(across, upwards)
    values = psi_of(scene.surrogate, tall - scene.offset, g)
    # No cost is negative, but for Micro-F1's, where all are.
    values[g > 0.0 if scene.points.g.min() < 0.0 else g < 0.0] = np.nan
    level = scene.found.psi
    highest = float(np.nanmax(values))
    if highest > level and not scene.is_settled:
        ax.contourf(g, tall, values, levels=[level, 2.0 * highest], colors=[_OPEN], zorder=1)
    ticks = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]).tick_values(0.0, highest)
    levels = [tick for tick in ticks if 0.0 < tick < highest]
    thin = ax.contour(
        g, tall, values, levels=levels, colors="#9A9A9A", linewidths=0.6, zorder=3,
    )  # fmt: skip
    ax.clabel(thin, fmt=lambda value: f"ψ = {number(value)}", fontsize=6.5, colors="#777777")
    for spot, colour, style in (
        (scene.found, _style.INK, "-"),
        *([(scene.best, _BEST, "--")] if scene.is_missed else []),
    ):
        ax.contour(
            g, tall, values, levels=[spot.psi], colors=[colour], linewidths=1.6, linestyles=style,
            zorder=6,
        )  # fmt: skip


def _shade(ax: Axes, scene: Scene, query: Query, colour: str) -> None:
    """Shade what a query excludes."""
    for region in _excluded(scene, query):
        if len(region) > 2:
            ax.add_patch(Polygon(region, facecolor=_tint(colour), edgecolor="none", zorder=2))


def _tint(colour: str) -> tuple[float, float, float]:
    red, green, blue = (1.0 - 0.22 * (1.0 - part) for part in to_rgb(colour))
    return red, green, blue


def _excluded(scene: Scene, query: Query) -> list[np.ndarray]:
    if query.kind == "profile":
        return _columns(scene, query)
    region = _window(scene)
    limits = _angle(query)
    if query.top > -math.inf:
        a, b, c = _line(scene, query)
        limits.append((a, b, c))
    for limit in limits:
        region = clip(region, limit)
    return [region]


def _columns(scene: Scene, query: Query) -> list[np.ndarray]:
    """Return, for every cost, the column above the best output of that cost."""
    costs = np.unique(query.points[:, 1])
    edges = np.concatenate([[scene.x[0]], 0.5 * (costs[1:] + costs[:-1]), [scene.x[1]]])
    regions = []
    for cost, left, right in zip(costs, edges[:-1], edges[1:], strict=True):
        top = query.points[query.points[:, 1] == cost, 0].max() + scene.offset
        low, high = max(top, scene.y[0]), scene.y[1]
        if low < high:
            regions.append(np.array([(left, low), (right, low), (right, high), (left, high)]))
    return regions


def _window(scene: Scene) -> np.ndarray:
    (left, right), (low, high) = scene.x, scene.y
    return np.array([(left, low), (right, low), (right, high), (left, high)])


def _angle(query: Query) -> list[HalfPlane]:
    """Return the half-planes whose common part is the angle of a constrained query."""
    if query.kind != "constrained":
        return []
    limits = [(0.0, 1.0, 0.0), (1.0, -query.low, 0.0)]
    if query.high < math.inf:
        limits.append((-1.0, query.high, 0.0))
    return limits


def _line(scene: Scene, query: Query) -> HalfPlane:
    """Return the half-plane beyond the line of a query."""
    if query.tilt == math.inf:
        return 1.0, 0.0, query.top
    return query.tilt, 1.0, query.top + scene.offset


# -- points and lines ----------------------------------------------------------------------------


def _draw_points(ax: Axes, scene: Scene) -> None:
    points, offset = scene.points, scene.offset
    n = len(points.h)
    size, alpha = (14.0, 0.9) if n <= 200 else (5.0, 0.6) if n <= 4000 else (3.0, 0.55)
    shown = points.h + offset >= scene.y[0]
    ax.scatter(
        points.g[shown], points.h[shown] + offset, s=size, c=_DOTS, alpha=alpha, linewidths=0,
        zorder=4, rasterized=n > 2000, label="outputs",
    )  # fmt: skip
    ax.plot(
        points.hull[:, 1], points.hull[:, 0] + offset, color=_DOTS, linewidth=1.3,
        linestyle=_DOTTED, zorder=5, label="hull",
    )  # fmt: skip


class _Lines:
    """The lines drawn so far, and where their numbers are."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.ends: list[np.ndarray] = []
        self.spots: list[np.ndarray] = []
        self.rays: set[float] = set()

    def scaled(self, points: np.ndarray) -> np.ndarray:
        """Return points as shares of the window."""
        (left, right), (low, high) = self.scene.x, self.scene.y
        return (points - (left, low)) / (right - left, high - low)

    def placed(self, shares: np.ndarray) -> np.ndarray:
        """Return points from shares of the window."""
        (left, right), (low, high) = self.scene.x, self.scene.y
        return (left, low) + shares * (right - left, high - low)

    def sight(self, query: Query) -> tuple[float, float, str]:
        """Return where to mark what a query found, and how: on the edge if it is out of sight."""
        x, y = self.scaled(np.array([query.g, query.h + self.scene.offset])).round(9).tolist()
        marker = ">" if x > 1.0 else "v" if y < 0.0 else "o"
        if marker == "o":
            return x, y, marker
        return min(max(x, 0.015), 0.985), min(max(y, 0.015), 0.985), marker

    def is_new(self, ends: np.ndarray) -> bool:
        """Tell whether a line can be told from those drawn before; if so it is one of them."""
        scaled = self.scaled(ends)
        is_new = all(np.abs(scaled - other).max() > 0.02 for other in self.ends)
        if is_new:
            self.ends.append(scaled)
        return is_new

    def is_free(self, scaled: np.ndarray) -> bool:
        """Tell whether no number is near."""
        return all(np.hypot(*(scaled - other)) > 0.045 for other in self.spots)

    def free_spot(self, ends: np.ndarray) -> np.ndarray | None:
        """Return a place on a line, from its left end on, that is not too near another number."""
        first, last = ends if ends[0, 0] <= ends[1, 0] else ends[::-1]
        for share in np.arange(0.03, 0.98, 0.03):
            spot = first + share * (last - first)
            scaled = self.scaled(spot)
            is_inside = scaled.min() >= 0.02 and scaled.max() <= 0.97
            if is_inside and self.is_free(scaled):
                self.spots.append(scaled)
                return spot
        return None


def _draw_line(ax: Axes, lines: _Lines, query: Query, place: int) -> None:
    """Draw the line of a query, the rays of its angle, and its number."""
    scene, colour = lines.scene, _style.query_colour(place)
    if query.kind == "constrained":
        for slope in {query.low, query.high} - lines.rays:
            lines.rays.add(slope)
            ray = (1.0, -slope, 0.0) if slope < math.inf else (0.0, 1.0, 0.0)
            _plot_segment(ax, scene, ray, [(0.0, 1.0, 0.0)], colour, 0.8, (0, (4, 2)))
    if query.kind == "profile" or query.top == -math.inf:
        return
    if query.kind == "k_best":
        g, tall = query.points[:, 1], query.points[:, 0] + scene.offset
        ax.plot(g, tall, ".", markersize=3.5, color=colour, zorder=6, scalex=False, scaley=False)
    ends = _plot_segment(ax, scene, _line(scene, query), _angle(query), colour, 1.3, "-")
    if ends is None or not lines.is_new(ends):
        return
    spot = lines.free_spot(ends)
    if spot is not None:
        x, y = spot.tolist()
        ax.text(
            x, y, str(place + 1), fontsize=7, color=colour, ha="center", va="center",
            zorder=9, bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": colour, "lw": 0.8},
        )  # fmt: skip


def _plot_segment(
    ax: Axes,
    scene: Scene,
    line: HalfPlane,
    limits: list[HalfPlane],
    colour: str,
    width: float,
    style: Any,
) -> np.ndarray | None:
    """Draw the part of a line within the window and some half-planes; return its ends."""
    (left, right), (low, high) = scene.x, scene.y
    window = [(1.0, 0.0, left), (-1.0, 0.0, -right), (0.0, 1.0, low), (0.0, -1.0, -high)]
    ends = segment(line, [*window, *limits])
    if ends is not None:
        ax.plot(*ends.T, color=colour, linewidth=width, linestyle=style, zorder=7)
    return ends


def _draw_answers(ax: Axes, lines: _Lines) -> None:
    """Mark the true output, the outputs that queries found, the one returned and the best."""
    scene = lines.scene
    found: dict[tuple[float, float, str], list[int]] = {}
    for place, query in enumerate(scene.queries):
        if not math.isnan(query.h):
            found.setdefault(lines.sight(query), []).append(place)
    for (x, y, marker), places in found.items():
        _mark_found(ax, lines, np.array([x, y]), marker, places)
    _mark(ax, scene, scene.truth, "D", 6.0, color=_style.INK, label="true output")
    if scene.found.psi > 0.0:
        ring = {"markerfacecolor": "none", "markeredgecolor": _style.INK, "markeredgewidth": 1.5}
        _mark(ax, scene, scene.found, "o", 11.0, label="found", **ring)
    if scene.is_missed:
        _mark(ax, scene, scene.best, "*", 13.0, color=_BEST, label="best")


def _mark(ax: Axes, scene: Scene, spot: Spot, marker: str, size: float, **how: Any) -> None:
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.8}
    ax.plot(
        [spot.g], [spot.h + scene.offset], marker=marker, markersize=size, linestyle="none",
        zorder=9, **{**edge, **how},
    )  # fmt: skip


def _mark_found(ax: Axes, lines: _Lines, at: np.ndarray, marker: str, places: list[int]) -> None:
    """Mark an output that queries found with their numbers; ``at`` is in shares of the window."""
    scene, colour = lines.scene, _style.query_colour(places[0])
    g, y = lines.placed(at).tolist()
    _mark(ax, scene, Spot(y - scene.offset, g, 0.0), marker, 6.5, color=colour)
    # Up and right of the output there are few others: it is on the hull, or nearly. But the text
    # is not to leave the window.
    ways = [(1, 1), (-1, -1), (1, -1)]
    ways = [(-1, 1)] if at[0] > 0.9 else [way for way in ways if way[0] > 0 or at[0] > 0.2]
    free = [way for way in ways if lines.is_free(at + 0.03 * np.array(way))]
    x_way, y_way = (free or ways)[0]
    lines.spots.append(at + 0.03 * np.array([x_way, y_way]))
    ax.annotate(
        _runs(places), (g, y), xytext=(6 * x_way, 6 * y_way), textcoords="offset points",
        ha="left" if x_way > 0 else "right", va="bottom" if y_way > 0 else "top", fontsize=7,
        color="white", fontweight="bold", zorder=10,
        bbox={"boxstyle": "round,pad=0.2", "fc": colour, "ec": "none"},
    )  # fmt: skip


def _runs(places: list[int]) -> str:
    """Spell the numbers of queries, three runs at the most.

    >>> _runs([0, 2, 3, 4, 7]), _runs([1, 3, 5, 7, 9])
    ('1, 3–5, 8', '2, 4, 6, …')
    """
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    texts = []
    for first, last in runs[:3]:
        dash = "–" if last - first > 1 else ", "
        texts.append(str(first + 1) if first == last else f"{first + 1}{dash}{last + 1}")
    return ", ".join([*texts, "…"] if len(runs) > 3 else texts)


def explain(ax: Axes, scene: Scene) -> None:
    """Add the legend beside the plane: signs first, then the queries in order."""
    found = f"found, and its contour: ψ = {number(scene.found.psi)}"
    best = f"best output: ψ = {number(scene.best.psi)}"
    handles = signs(found, best if scene.is_missed else "", has_open=not scene.is_settled)
    for place, query in enumerate(scene.queries[:_MOST_NAMED]):
        answer = "none there" if math.isnan(query.psi) else f"ψ = {number(query.psi)}"
        label = f"{place + 1}.  {asked(query)}: {answer}"
        handles.append(_sign(label, color=_style.query_colour(place), linestyle="-", linewidth=1.6))
    if len(scene.queries) > _MOST_NAMED:
        handles.append(_sign(f"and {len(scene.queries) - _MOST_NAMED} more"))
    ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=_style.TICK,
        labelcolor=_style.INK, frameon=False, handlelength=1.8, labelspacing=0.6,
    )  # fmt: skip


def signs(found: str, best: str, has_open: bool = True) -> list[Any]:
    """Return the entries of a legend that explain the signs; without text, none for the best."""
    unknown = Patch(facecolor=_OPEN, label="not ruled out: better could be here")
    ring = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "markeredgewidth": 1.5}
    star = {"marker": "*", "markersize": 11, "linestyle": "--", "linewidth": 1.4}
    return [
        _sign("outputs", marker=".", color=_DOTS),
        _sign("their hull", color=_DOTS, linestyle=_DOTTED, linewidth=1.3),
        _sign("true output", marker="D", markersize=5, color=_style.INK),
        _sign(found, color=_style.INK, linestyle="-", linewidth=1.4, **ring),
        *([_sign(best, color=_BEST, **star)] if best else []),
        *([unknown] if has_open else []),
        Patch(facecolor=_tint(_style.COLOURS[0]), label="ruled out by the query of that colour"),
    ]


def _sign(label: str, **how: Any) -> Line2D:
    return Line2D([], [], **{"linestyle": "none", **how}, label=label)
