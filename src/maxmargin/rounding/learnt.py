"""Learnt rounding: a net draws marginals, which complete rounding makes labellings of.

An encoder maps node marginals y to the law of a latent z, a decoder maps z to marginals ybar, and
complete rounding of ybar draws a labelling. The net sees y alone. It maximises the expected score
of the draw, which has a closed form and an exact gradient in ybar, plus a small entropy that is
annealed to 0. No labels are needed, so a net may be trained on the instance that it rounds. What it
finds always stands beside max rounding with local search and beside the best constant labelling,
and the best of all is returned. torch is imported at the first use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxmargin.inference._checks import check_count
from maxmargin.inference.graph.model import FactorGraph
from maxmargin.inference.graph.shape import DENSE
from maxmargin.rounding.base import check_marginals
from maxmargin.rounding.complete import Complete
from maxmargin.rounding.public import round_graph

__all__ = ["LearntRounding", "Rounded", "learn_rounding"]


class Rounded(NamedTuple):
    """A labelling, and what others score.

    Attributes
    ----------
    labels : int32 array of shape (n,), the best of all
    score : float
    method : str, which of `scores` it is
    scores : dict
        "learnt": the best draw of the net; "learnt+local": after a local search; "max+local": max
        rounding after one; "constant": the best labelling whose nodes all have one label.
    mean : float
        The mean score of the draws, before any local search.
    """

    labels: npt.NDArray[np.int32]
    score: float
    method: str
    scores: dict[str, float]
    mean: float


def _torch() -> Any:
    """Return torch, or say how to install it."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "learnt rounding needs torch, which is not installed: pip install 'maxmargin[torch]'."
        ) from error
    return torch


class _Instance(NamedTuple):
    """A graph of pairs as tensors, and the marginals to round."""

    unary: Any  # (n, K)
    pairs: Any  # (E, 2)
    tables: Any  # (E, K, K)
    y: Any  # (n, K)


@dataclass(frozen=True)
class LearntRounding:
    """A net that rounds; made by `learn_rounding`.

    Attributes
    ----------
    encoder, decoder : torch modules
    shape : (n, K), nodes and labels; a convolutional net takes grids of any size, and n is 0
    grid : whether the net is convolutional
    """

    encoder: Any
    decoder: Any
    shape: tuple[int, int]
    grid: bool

    def fine_tuned(
        self,
        graph: FactorGraph,
        mu: Any,
        *,
        size: tuple[int, int] | None = None,
        n_steps: int = 20,
        seed: int = 0,
    ) -> LearntRounding:
        """Return a copy that was trained further, on this instance alone.

        ``size`` is the height and width of the grid, for a convolutional net.
        """
        import copy

        own = copy.deepcopy(self)
        sizes = None if size is None else [size]
        _train(own, [_instance(graph, mu, own, size)], sizes, n_steps, 0.01, 4, 3e-3, seed)
        return own

    def round(
        self,
        graph: FactorGraph,
        mu: Any,
        *,
        size: tuple[int, int] | None = None,
        n_draws: int = 100,
        seed: int = 0,
    ) -> Rounded:
        """Return the best labelling of draws of the net, max rounding and constants."""
        torch = _torch()
        check_count("n_draws", n_draws)
        instance = _instance(graph, mu, self, size)
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        found: dict[str, npt.NDArray[np.int32]] = {}
        draws: list[float] = []
        with torch.no_grad():
            for _ in range(n_draws):
                ybar = _decoded(self, instance, size).double().numpy()
                labels = Complete().draw(graph, check_marginals(graph, ybar), rng)
                draws.append(graph.score(labels.tolist()))
                if draws[-1] >= max(draws):
                    found["learnt"] = labels
        n, K = instance.y.shape
        found["learnt+local"] = _polished(graph, found["learnt"], K)
        found["max+local"] = round_graph(graph, mu, "max", polish_by="local")
        constants = [np.full(n, label, dtype=np.int32) for label in range(K)]
        found["constant"] = max(constants, key=lambda labels: graph.score(labels.tolist()))
        scores = {name: float(graph.score(labels.tolist())) for name, labels in found.items()}
        method = max(scores, key=lambda name: scores[name])
        return Rounded(found[method], scores[method], method, scores, float(np.mean(draws)))


def learn_rounding(
    graphs: Sequence[FactorGraph],
    mus: Sequence[Any],
    *,
    sizes: Sequence[tuple[int, int]] | None = None,
    n_steps: int = 500,
    entropy: float = 0.01,
    n_samples: int = 4,
    hidden: int = 128,
    latent: int = 32,
    rate: float = 3e-3,
    seed: int = 0,
) -> LearntRounding:
    """Train a net to round the marginals of graphs.

    Parameters
    ----------
    graphs : sequence of FactorGraph
        Nodes with one number of labels, and tables of pairs; for a fully connected net all of one
        number of nodes. One graph is enough: its own.
    mus : sequence of node marginals, one entry per graph, as `round_graph` takes them
    sizes : sequence of (height, width), or None
        Makes the net convolutional: nodes are the cells of these grids, row by row.
    n_steps : int
        Steps of Adam, each on one of the graphs in turn.
    entropy : float >= 0
        What the entropy of the marginals weighs at the start; it falls to 0 in a straight line. It
        must be small against the scores: a large one hides them.
    n_samples : int
        Draws of z per step.
    hidden, latent : int
        Units of the two hidden layers of encoder and decoder, and of z; a quarter of `hidden` are
        the channels of a convolutional net.
    rate : float > 0
    seed : int

    Examples
    --------
    >>> from maxmargin.inference import FactorGraph
    >>> from maxmargin.rounding.learnt import learn_rounding
    >>> edges = [(0, 1), (1, 2), (0, 2)]  # frustrated: neighbours prefer different labels
    >>> graph = FactorGraph([[0.0, 0.1]] * 3, edges, [[0.0, 1.0], [1.0, 0.0]])
    >>> mu = [[0.5, 0.5]] * 3
    >>> found = learn_rounding([graph], [mu], n_steps=100).round(graph, mu, n_draws=10)
    >>> sorted(found.scores), round(found.score, 6)
    (['constant', 'learnt', 'learnt+local', 'max+local'], 2.2)
    """
    torch = _torch()
    for name, value in (("n_steps", n_steps), ("n_samples", n_samples), ("hidden", hidden),
                        ("latent", latent)):  # fmt: skip
        check_count(name, value)
    if not (0.0 <= entropy < math.inf and 0.0 < rate < math.inf):
        raise ValueError(f"entropy must be >= 0 and rate > 0, got {entropy!r} and {rate!r}.")
    if len(graphs) == 0 or len(graphs) != len(mus):
        raise ValueError(
            f"there must be one entry of mus per graph, and a graph at least; got {len(graphs)} "
            f"graphs and {len(mus)} marginals."
        )
    if sizes is not None and len(sizes) != len(graphs):
        raise ValueError(f"sizes must have one entry per graph, {len(graphs)}; got {len(sizes)}.")
    torch.manual_seed(seed)
    n, K = _shape(graphs[0])
    net = _net(torch, (0 if sizes is not None else n, K), sizes is not None, hidden, latent)
    each = [None] * len(graphs) if sizes is None else list(sizes)
    instances = [
        _instance(graph, mu, net, size) for graph, mu, size in zip(graphs, mus, each, strict=True)
    ]
    _train(net, instances, sizes, n_steps, entropy, n_samples, rate, seed)
    return net


def _net(
    torch: Any, shape: tuple[int, int], grid: bool, hidden: int, latent: int
) -> LearntRounding:
    nn = torch.nn

    def layers(first: int, last: int) -> Any:
        width = max(hidden // 4, 1) if grid else hidden
        make = (lambda a, b: nn.Conv2d(a, b, 3, padding=1)) if grid else nn.Linear
        return nn.Sequential(
            make(first, width), nn.ReLU(), make(width, width), nn.ReLU(), make(width, last)
        )

    size = shape[1] if grid else shape[0] * shape[1]
    return LearntRounding(layers(size, 2 * latent), layers(latent, size), shape, grid)


def _shape(graph: FactorGraph) -> tuple[int, int]:
    """Return the numbers of nodes and labels; refuse graphs whose expected scores are not known."""
    shape = graph.shape
    n_labels = np.unique(shape.n_labels)
    if len(n_labels) != 1:
        raise ValueError(f"all nodes must have one number of labels, got {n_labels.tolist()}.")
    if (shape.kinds != DENSE).any() or (np.diff(shape.member_at) != 2).any():
        raise ValueError("learnt rounding is for tables of pairs; the graph has other factors.")
    if not (np.isfinite(graph.unary).all() and np.isfinite(graph.tables).all()):
        raise ValueError("the scores of a graph to learn rounding on must be finite.")
    return len(shape.n_labels), int(n_labels[0])


def _instance(
    graph: FactorGraph, mu: Any, net: LearntRounding, size: tuple[int, int] | None
) -> _Instance:
    torch = _torch()
    n, K = _shape(graph)
    if net.grid != (size is not None):
        raise ValueError(
            "size must be given, (height, width), for a convolutional net and for no other."
        )
    if size is not None and int(size[0]) * int(size[1]) != n:
        raise ValueError(f"a grid of {size[0]} x {size[1]} has not {n} nodes.")
    if (net.shape[1] != K) or (not net.grid and n != net.shape[0]):
        raise ValueError(
            f"the net is for {net.shape[0] or 'any number of'} nodes and {net.shape[1]} labels, "
            f"the graph has {n} nodes and {K} labels."
        )
    shape = graph.shape
    y = check_marginals(graph, mu).reshape(n, K)
    cells = np.asarray(shape.table_at)[:, None] + np.arange(K * K)
    tables = np.asarray(graph.tables)[cells].reshape(-1, K, K)
    pairs = np.asarray(shape.members, dtype=np.int64).reshape(-1, 2)
    return _Instance(
        torch.tensor(np.asarray(graph.unary).reshape(n, K), dtype=torch.float32),
        torch.tensor(pairs),
        torch.tensor(tables, dtype=torch.float32),
        torch.tensor(y, dtype=torch.float32),
    )


def _decoded(net: LearntRounding, instance: _Instance, size: tuple[int, int] | None) -> Any:
    """Return marginals ybar of shape (n, K), for a z that is drawn."""
    torch = _torch()
    n, K = instance.y.shape
    given = instance.y.reshape(1, -1)
    if size is not None:
        given = instance.y.T.reshape(1, K, *size)
    mean, log_sigma = net.encoder(given).chunk(2, dim=1)
    z = mean + log_sigma.clamp(-10.0, 5.0).exp() * torch.randn_like(mean)
    logits = net.decoder(z)
    logits = logits.reshape(K, n).T if size is not None else logits.reshape(n, K)
    return logits.softmax(dim=1)


def expected_score_of(instance: _Instance, ybar: Any) -> Any:
    """Return the expected score of complete rounding, in closed form, as torch code.

    Two nodes get the labels i and j with the probability by which their intervals of cumulative
    marginals overlap.
    """
    torch = _torch()
    ends = ybar.cumsum(dim=1)
    begins = ends - ybar
    a, b = instance.pairs.T
    high = torch.minimum(ends[a][:, :, None], ends[b][:, None, :])
    low = torch.maximum(begins[a][:, :, None], begins[b][:, None, :])
    return (instance.unary * ybar).sum() + (instance.tables * (high - low).clamp(min=0.0)).sum()


def _train(
    net: LearntRounding,
    instances: list[_Instance],
    sizes: Sequence[tuple[int, int]] | None,
    n_steps: int,
    entropy: float,
    n_samples: int,
    rate: float,
    seed: int,
) -> None:
    torch = _torch()
    check_count("n_steps", n_steps)
    torch.manual_seed(seed)
    parameters = [*net.encoder.parameters(), *net.decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, rate)
    for step in range(n_steps):
        k = step % len(instances)
        weight = entropy * (1.0 - step / n_steps)
        loss: Any = 0.0
        for _ in range(n_samples):
            ybar = _decoded(net, instances[k], None if sizes is None else sizes[k])
            spread = (ybar * (ybar + 1e-12).log()).sum()
            loss = loss - expected_score_of(instances[k], ybar) + weight * spread
        optimizer.zero_grad()
        (loss / n_samples).backward()
        optimizer.step()


def _polished(graph: FactorGraph, labels: Any, n_labels: int) -> npt.NDArray[np.int32]:
    """Return a labelling after a local search."""
    return round_graph(graph, np.eye(n_labels)[labels], "max", polish_by="local")
