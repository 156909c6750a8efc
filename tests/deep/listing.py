"""Batches whose outputs can all be listed, each with its parts, written without our structures.

The parts of an output say how often it uses each number of each tensor of potentials. Scores, costs
and losses of the layers are compared with what these lists say.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from maxmargin.deep import (
    Chains,
    Classes,
    Graphs,
    Hierarchies,
    LabelSets,
    OwnStructure,
    Parses,
    Rankings,
)
from tests.deep.switches import Switches


@dataclass
class Listed:
    """A batch: for each example all outputs as pairs (parts by tensor, cost)."""

    structure: Any
    cost: Any
    potentials: tuple[Any, ...]  # tensors or None
    truths: Any
    outputs: list[list[tuple[dict[int, np.ndarray], float]]]
    true_parts: list[dict[int, np.ndarray]]
    more: dict[str, Any] = field(default_factory=dict)  # lengths, edges

    def score(self, parts):
        return sum(
            float((self.potentials[k].detach().double().numpy() * own).sum())
            for k, own in parts.items()
        )


def tensor(rng, *shape):
    return torch.tensor(rng.normal(size=shape), dtype=torch.float64, requires_grad=True)


def classes(rng):
    scores, truths = tensor(rng, 3, 4), [1, 0, 3]

    def parts(i, k):
        own = np.zeros((3, 4))
        own[i, k] = 1.0
        return {0: own}

    cost = np.abs(np.subtract.outer(range(4), range(4))).astype(float)
    outputs = [[(parts(i, k), cost[t, k]) for k in range(4)] for i, t in enumerate(truths)]
    own = [parts(i, t) for i, t in enumerate(truths)]
    return Listed(Classes(4), "ordinal", (scores,), torch.tensor(truths), outputs, own)


def chains(rng, cost="hamming"):
    K, lengths = 3, [3, 0, 1, 2]
    potentials = tensor(rng, 4, 3, K), tensor(rng, K, K), tensor(rng, K), tensor(rng, K)
    truths = rng.integers(K, size=(4, 3))

    def parts(i, y):
        unary, moves, start, end = (np.zeros(p.shape) for p in potentials)
        for t, label in enumerate(y):
            unary[i, t, label] += 1.0
        for a, b in itertools.pairwise(y):
            moves[a, b] += 1.0
        if len(y):
            start[y[0]] += 1.0
            end[y[-1]] += 1.0
        return {0: unary, 1: moves, 2: start, 3: end}

    outputs, own = [], []
    for i, length in enumerate(lengths):
        truth = truths[i, :length]
        wrong = {
            y: int((np.array(y) != truth).sum()) for y in itertools.product(*[range(K)] * length)
        }
        price = (lambda n: float(n)) if cost == "hamming" else (lambda n: float(n > 0))
        outputs.append([(parts(i, y), price(n)) for y, n in wrong.items()])
        own.append(parts(i, tuple(truth)))
    more = {"lengths": torch.tensor(lengths)}
    return Listed(Chains(K), cost, potentials, torch.tensor(truths), outputs, own, more)


def label_sets(rng, edges=(), inference="auto"):
    m = 4
    pairs = list(edges)
    potentials = (tensor(rng, 3, m), tensor(rng, len(pairs))) if pairs else (tensor(rng, 3, m),)
    truths = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]])

    def parts(i, y):
        unary = np.zeros((3, m))
        unary[i] = y
        both = np.array([y[a] * y[b] for a, b in pairs], dtype=float)
        return {0: unary, 1: both} if pairs else {0: unary}

    outputs = [
        [
            (parts(i, y), float((np.array(y) != truth).sum()))
            for y in itertools.product((0, 1), repeat=m)
        ]
        for i, truth in enumerate(truths)
    ]
    own = [parts(i, truth) for i, truth in enumerate(truths)]
    structure = LabelSets(m, pairs, inference)
    return Listed(structure, "hamming", potentials, torch.tensor(truths), outputs, own)


def graphs(rng, edges, shared, cost="hamming"):
    K, sizes = 3, [3, 1, 3]
    chosen = [edges, [], edges[:1]]
    most = max(map(len, chosen))
    tables = tensor(rng, K, K) if shared else tensor(rng, 3, most, K, K)
    potentials = tensor(rng, 3, 3, K), tables
    truths = rng.integers(K, size=(3, 3))

    def parts(i, y):
        unary, table = np.zeros((3, 3, K)), np.zeros(tables.shape)
        for v, label in enumerate(y):
            unary[i, v, label] += 1.0
        for e, (a, b) in enumerate(chosen[i]):
            place = (y[a], y[b]) if shared else (i, e, y[a], y[b])
            table[place] += 1.0
        return {0: unary, 1: table}

    outputs, own = [], []
    for i, size in enumerate(sizes):
        truth = truths[i, :size]
        listed = itertools.product(range(K), repeat=size)
        outputs.append([(parts(i, y), float((np.array(y) != truth).sum())) for y in listed])
        own.append(parts(i, tuple(truth)))
    more = {"lengths": torch.tensor(sizes), "edges": chosen}
    return Listed(Graphs(K), cost, potentials, torch.tensor(truths), outputs, own, more)


def rankings(rng):
    lengths, truths = [4, 0, 3, 2], np.array([[0, 1, 1, 0], [0] * 4, [1, 0, 0, 1], [1, 1, 0, 0]])
    scores = tensor(rng, 4, 4)

    def parts(i, order):
        relevant = [k for k in order if truths[i, k]]
        own, n_pairs = np.zeros((4, 4)), len(relevant) * (len(order) - len(relevant))
        for k, other in itertools.product(relevant, [k for k in order if not truths[i, k]]):
            sign = 1.0 if order.index(k) < order.index(other) else -1.0
            own[i, k] += sign / n_pairs
            own[i, other] -= sign / n_pairs
        return {0: own}

    def cost(i, order):
        places = [p for p, k in enumerate(order, 1) if truths[i, k]]
        if not places or len(places) == len(order):
            return 0.0
        return 1.0 - float(np.mean([n / place for n, place in enumerate(places, 1)]))

    outputs, own = [], []
    for i, length in enumerate(lengths):
        orders = list(itertools.permutations(range(length)))
        outputs.append([(parts(i, order), cost(i, order)) for order in orders])
        own.append(parts(i, tuple(sorted(range(length), key=lambda k: -truths[i, k]))))
    more = {"lengths": torch.tensor(lengths)}
    return Listed(Rankings(), "ap", (scores,), torch.tensor(truths), outputs, own, more)


#: 0 is the root of 1 and 2; 3 and 4 are below 1.
PARENTS = [None, 0, 0, 1, 1]
ABOVE = {2: [0, 2], 3: [0, 1, 3], 4: [0, 1, 4]}


def hierarchy_labels(rng):
    scores, leaves, truths = tensor(rng, 3, 5), [2, 3, 4], [0, 1, 2]

    def parts(i, k):
        own = np.zeros((3, 5))
        own[i, ABOVE[leaves[k]]] = 1.0
        return {0: own}

    def cost(a, b):  # the edges between two leaves, of at most 3
        return len(set(ABOVE[leaves[a]]) ^ set(ABOVE[leaves[b]])) / 3.0

    outputs = [[(parts(i, k), cost(k, t)) for k in range(3)] for i, t in enumerate(truths)]
    own = [parts(i, t) for i, t in enumerate(truths)]
    return Listed(
        Hierarchies(PARENTS), "tree_distance", (scores,), torch.tensor(truths), outputs, own
    )


def node_sets(rng, space, parents=PARENTS):
    M = len(parents)
    above = [[] if own is None else np.atleast_1d(own).tolist() for own in parents]
    below = [[n for n in range(M) if v in above[n]] for v in range(M)]

    def is_output(y):
        if any(y[n] and not y[v] for n in range(M) for v in above[n]):
            return False
        ends = [v for v in range(M) if y[v] and not any(y[n] for n in below[v])]
        return space == "closed" or (any(y) and not any(below[v] for v in ends))

    sets = [y for y in itertools.product((0, 1), repeat=M) if is_output(y)]
    truths = np.array([sets[1], sets[-1], sets[len(sets) // 2]])
    scores = tensor(rng, 3, M)

    def parts(i, y):
        own = np.zeros((3, M))
        own[i] = y
        return {0: own}

    outputs = [
        [(parts(i, y), float((np.array(y) != t).sum())) for y in sets] for i, t in enumerate(truths)
    ]
    own = [parts(i, t) for i, t in enumerate(truths)]
    structure = Hierarchies(parents, space)
    return Listed(structure, "hamming", (scores,), torch.tensor(truths), outputs, own)


def own_structure(rng):
    potentials, truths = (tensor(rng, 2, 3), tensor(rng, 2, 1, 1)), [[1, 0, 1], [0, 0, 0]]

    def parts(i, y):
        on, bonus = np.zeros((2, 3)), np.zeros((2, 1, 1))
        on[i], bonus[i] = y, float(sum(y) == 2)
        return {0: on, 1: bonus}

    sets = list(itertools.product((0, 1), repeat=3))
    outputs = [
        [(parts(i, y), float((np.array(y) != t).sum())) for y in sets] for i, t in enumerate(truths)
    ]
    own = [parts(i, t) for i, t in enumerate(truths)]
    return Listed(OwnStructure(Switches()), None, potentials, torch.tensor(truths), outputs, own)


def parses(rng, L=None, projective=True):
    lengths, longest = [3, 0, 1, 2], 3
    arcs = tensor(rng, 4, 4, 4) if L is None else tensor(rng, 4, 4, 4, L)

    def is_tree(heads):
        n = len(heads)
        if sum(h == 0 for h in heads) != 1 or any(h == m for m, h in enumerate(heads, 1)):
            return False
        for m in range(1, n + 1):
            at, steps = m, 0
            while at and steps <= n:
                at, steps = heads[at - 1], steps + 1
            if at:
                return False
        spans = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
        crossing = any(a < c < b < d for (a, b), (c, d) in itertools.permutations(spans, 2))
        return not (projective and crossing)

    def parts(i, heads, relations):
        own = np.zeros(arcs.shape)
        for m, (h, label) in enumerate(zip(heads, relations, strict=True), 1):
            own[(i, h, m) if L is None else (i, h, m, label)] += 1.0
        return {0: own}

    outputs, own, truths = [], [], np.zeros((4, longest, 2), dtype=int)
    for i, n in enumerate(lengths):
        trees = [t for t in itertools.product(range(n + 1), repeat=n) if n == 0 or is_tree(t)]
        listed = list(itertools.product(trees, itertools.product(range(L or 1), repeat=n)))
        truth = listed[rng.integers(len(listed))]
        truths[i, :n] = np.array(truth).T
        outputs.append([
            (parts(i, *y), float(sum(a != b for a, b in zip(zip(*y), zip(*truth)))))  # noqa: B905
            for y in listed
        ])  # fmt: skip
        own.append(parts(i, *truth))
    given = torch.tensor(truths if L is not None else truths[..., 0])
    structure, more = Parses(L, projective), {"lengths": torch.tensor(lengths)}
    return Listed(structure, "las" if L else "uas", (arcs,), given, outputs, own, more)


CHAIN, CYCLE = [(0, 1), (2, 1)], [(0, 1), (1, 2), (2, 0)]
ALL_PAIRS = list(itertools.combinations(range(4), 2))

#: By name. "pairwise" searches with a bound; with 4 labels its losses are exact all the same.
BATCHES = {
    "classes": classes,
    "chains": chains,
    "chains_zero_one": lambda rng: chains(rng, "zero_one"),
    "labels": label_sets,
    "labels_tree": lambda rng: label_sets(rng, [(0, 1), (1, 2), (1, 3)]),
    "labels_all_pairs": lambda rng: label_sets(rng, ALL_PAIRS),
    "trees": lambda rng: graphs(rng, CHAIN, shared=True),
    "trees_own_tables": lambda rng: graphs(rng, CHAIN, shared=False),
    "graphs": lambda rng: graphs(rng, CYCLE, shared=True),
    "graphs_own_tables": lambda rng: graphs(rng, CYCLE, shared=False),
    "rankings": rankings,
    "own": own_structure,
    "parses": parses,
    "parses_labelled": lambda rng: parses(rng, 2),
    "parses_crossing": lambda rng: parses(rng, projective=False),
    "hierarchy_labels": hierarchy_labels,
    "hierarchy_closed": lambda rng: node_sets(rng, "closed"),
    "hierarchy_paths": lambda rng: node_sets(rng, "paths"),
    "hierarchy_dag": lambda rng: node_sets(rng, "closed", [None, 0, 0, [1, 2]]),
}
