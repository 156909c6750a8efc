"""Dominance: labels that are decided whatever the others are, the first step of roof duality."""

from __future__ import annotations

from maxmargin.core.compile import kernel

#: The value of a label that is not decided yet.
OPEN = -1


@kernel
def decide_by_dominance(unary, graph, pair, room, node2):
    """Decide labels by dominance; return how many remain open.

    node2[j] is 0 or 2 for decided labels, -1 for open ones. Afterwards room.field[j] of an open
    label is its unary plus the pair weights to decided neighbours that are 1.
    """
    field, rise, fall, queue = room.field, room.rise, room.fall, room.queue
    n_labels = unary.shape[0]
    for j in range(n_labels):
        field[j] = unary[j]
        rise[j] = 0.0
        fall[j] = 0.0
        node2[j] = OPEN
    for e in range(pair.shape[0]):
        a, b = graph.edges[e, 0], graph.edges[e, 1]
        up, down = max(pair[e], 0.0), min(pair[e], 0.0)
        rise[a] += up
        rise[b] += up
        fall[a] += down
        fall[b] += down
    # Sweep until a sweep decides nothing: each decision may allow further ones.
    n_open = n_labels
    for j in range(n_labels):
        queue[j] = j
    changed = True
    while changed:
        n_kept = 0
        for k in range(n_open):
            j = queue[k]
            if field[j] + rise[j] <= 0.0 or field[j] + fall[j] >= 0.0:
                # Sum anew: subtracting large terms may have left rise and fall inaccurate.
                _sum_open(j, graph, pair, room, node2)
            stays_out = field[j] + rise[j] <= 0.0
            if stays_out or field[j] + fall[j] >= 0.0:
                _decide(j, 0 if stays_out else 2, graph, pair, room, node2)
            else:
                queue[n_kept] = j
                n_kept += 1
        changed = n_kept < n_open
        n_open = n_kept
    return n_open


@kernel
def _sum_open(j, graph, pair, room, node2):
    """Set room.rise[j] and room.fall[j] by summing anew the pair weights from j to open labels."""
    up = 0.0
    down = 0.0
    for i in range(graph.start[j], graph.start[j + 1]):
        if node2[graph.neighbour[i]] == OPEN:
            weight = pair[graph.edge_of[i]]
            up += max(weight, 0.0)
            down += min(weight, 0.0)
    room.rise[j] = up
    room.fall[j] = down


@kernel
def _decide(j, value, graph, pair, room, node2):
    """Set node2[j] = value, and update field, rise and fall of the neighbours of j."""
    node2[j] = value
    for i in range(graph.start[j], graph.start[j + 1]):
        k = graph.neighbour[i]
        weight = pair[graph.edge_of[i]]
        if value > 0:
            room.field[k] += weight
        room.rise[k] -= max(weight, 0.0)
        room.fall[k] -= min(weight, 0.0)
