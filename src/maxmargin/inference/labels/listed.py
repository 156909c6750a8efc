"""Label sets by enumeration: the scores of all 2^m outputs, m up to 16, and scans over them.

An output is given by one number, its mask: bit j is label j. The list of scores is filled by
doubling. The scores of the masks whose highest label is j follow from those of all lower masks,

    scores[2^j + mask] = scores[mask] + cross_j[mask],  cross_j[mask] = unary[j] + edges to mask,

and cross_j is filled by doubling as well. This takes two additions per output, over contiguous
halves. A unary of -inf keeps a label off: every mask with that label scores -inf, and no scan
returns it. Labels whose truth is unknown are left out in this way.

Scans return masks. The score and the cost of an answer are exactly scores[mask] and costs[mask].
Ties go to the lowest mask: the last label in which two outputs differ is off.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel

__all__ = [
    "MAX_LISTED",
    "all_costs",
    "all_levels",
    "all_scores",
    "best_k_listed",
    "best_listed",
    "best_listed_within",
    "fill_pairs",
    "labels_to_mask",
    "listed_profile",
    "mask_to_labels",
]

MAX_LISTED = 16  #: most labels; the scores and costs of all outputs then take one megabyte


@kernel
def fill_pairs(edges, pair, matrix):
    """Fill the symmetric (m, m) matrix with the pair weights of the edges, 0 elsewhere."""
    m = matrix.shape[0]
    for a in range(m):
        for b in range(m):
            matrix[a, b] = 0.0
    for e in range(edges.shape[0]):
        matrix[edges[e, 0], edges[e, 1]] = pair[e]
        matrix[edges[e, 1], edges[e, 0]] = pair[e]


@kernel
def all_scores(unary, pair_matrix, scores, cross):
    """Fill scores[mask] for all 2^m masks.

    Parameters
    ----------
    unary : float64 array of shape (m,), -inf for labels that stay off
    pair_matrix : float64 array of shape (m, m), symmetric, finite; the diagonal is not read
    scores : float64 array of length >= 2^m
    cross : float64 workspace of length >= 2^(m - 1), at least 1
    """
    scores[0] = 0.0
    for j in range(unary.shape[0]):
        size = 1 << j
        cross[0] = unary[j]
        for i in range(j):
            _append(cross, 1 << i, pair_matrix[j, i])
        without = scores[:size]
        having = scores[size : 2 * size]
        for mask in range(size):
            having[mask] = without[mask] + cross[mask]


@kernel
def _append(values, size, added):
    """Set values[size:2 size] = values[:size] + added."""
    first = values[:size]
    second = values[size : 2 * size]
    for i in range(size):
        second[i] = first[i] + added


@kernel
def all_costs(price_wrong, truth, costs):
    """Fill costs[mask] for all 2^m masks with the sum of the prices of the wrong labels.

    Parameters
    ----------
    price_wrong : float64 array of shape (m,), what it costs to get label j wrong
    truth : int32 array of length >= m: 0, 1, or -1 where unknown; such a label is never wrong
    costs : float64 array of length >= 2^m; the truth costs exactly 0
    """
    costs[0] = 0.0
    for j in range(price_wrong.shape[0]):
        size = 1 << j
        # Prices are only added, never subtracted, so the cost of the truth is exactly 0.
        _append(costs, size, price_wrong[j] if truth[j] == 0 else 0.0)
        if truth[j] == 1:
            for mask in range(size):
                costs[mask] += price_wrong[j]


@kernel
def all_levels(truth, m, levels):
    """Fill levels[mask] (int8, length >= 2^m) with the number of wrong labels.

    A label whose truth is unknown, -1, is never wrong.
    """
    levels[0] = 0
    for j in range(m):
        levels[0] += 1 if truth[j] == 1 else 0
    for j in range(m):
        size = 1 << j
        step = 0 if truth[j] < 0 else 1 - 2 * truth[j]
        first = levels[:size]
        second = levels[size : 2 * size]
        for mask in range(size):
            second[mask] = first[mask] + step


@kernel
def best_listed(scores, costs, size, score_scale, cost_scale, banned, n_banned, saved):
    """Return the mask with the highest score_scale * score + cost_scale * cost; -1 if none is left.

    Parameters
    ----------
    scores, costs : float64 arrays of length >= size; scores change meanwhile, and are restored
    size : int, 2^m
    score_scale, cost_scale : floats >= 0; a mask that scores -inf is never the answer
    banned : int64 array of masks that may not be the answer; only [:n_banned] is read
    saved : float64 workspace of length >= n_banned
    """
    _ban(scores, banned, n_banned, saved)
    # 0 * -inf gives NaN, which no comparison takes for the greater. The scan goes block by block,
    # so that only the best block is read again to find the mask; within a block `_highest` keeps
    # eight maxima, so that no comparison waits for another.
    top = -np.inf
    top_block = -1
    block = min(size, 256)
    for start in range(0, size, block):
        highest = _highest(
            scores[start : start + block], costs[start : start + block], score_scale, cost_scale
        )
        if highest > top:
            top = highest
            top_block = start
    found = -1
    if top_block >= 0:
        for mask in range(top_block, top_block + block):
            if score_scale * scores[mask] + cost_scale * costs[mask] == top:
                found = mask
                break
    _unban(scores, banned, n_banned, saved)
    return found


@kernel
def _highest(scores, costs, score_scale, cost_scale):
    size = scores.shape[0]
    top0 = top1 = top2 = top3 = top4 = top5 = top6 = top7 = -np.inf
    n_eights = size - size % 8
    for i in range(0, n_eights, 8):
        value0 = score_scale * scores[i] + cost_scale * costs[i]
        value1 = score_scale * scores[i + 1] + cost_scale * costs[i + 1]
        value2 = score_scale * scores[i + 2] + cost_scale * costs[i + 2]
        value3 = score_scale * scores[i + 3] + cost_scale * costs[i + 3]
        value4 = score_scale * scores[i + 4] + cost_scale * costs[i + 4]
        value5 = score_scale * scores[i + 5] + cost_scale * costs[i + 5]
        value6 = score_scale * scores[i + 6] + cost_scale * costs[i + 6]
        value7 = score_scale * scores[i + 7] + cost_scale * costs[i + 7]
        top0 = value0 if value0 > top0 else top0
        top1 = value1 if value1 > top1 else top1
        top2 = value2 if value2 > top2 else top2
        top3 = value3 if value3 > top3 else top3
        top4 = value4 if value4 > top4 else top4
        top5 = value5 if value5 > top5 else top5
        top6 = value6 if value6 > top6 else top6
        top7 = value7 if value7 > top7 else top7
    for i in range(n_eights, size):
        value0 = score_scale * scores[i] + cost_scale * costs[i]
        top0 = value0 if value0 > top0 else top0
    return max(max(max(top0, top1), max(top2, top3)), max(max(top4, top5), max(top6, top7)))


@kernel
def best_k_listed(scores, costs, size, score_scale, cost_scale, k, masks, values):
    """Find the k masks with the highest score_scale * score + cost_scale * cost; return how many.

    masks (int64) and values (float64), of length >= k, receive the masks and their values, best
    first; masks that score -inf are left out. The other parameters are those of `best_listed`.
    """
    count = 0
    threshold = -np.inf
    for mask in range(size):
        value = score_scale * scores[mask] + cost_scale * costs[mask]
        if value > threshold:
            place = min(count, k - 1)
            while place > 0 and values[place - 1] < value:
                values[place] = values[place - 1]
                masks[place] = masks[place - 1]
                place -= 1
            values[place] = value
            masks[place] = mask
            count = min(count + 1, k)
            if count == k:
                threshold = values[k - 1]
    return count


@kernel
def listed_profile(scores, levels, size, n_levels, best, masks):
    """Find the mask with the highest score on each level.

    Parameters
    ----------
    scores : float64 array of length >= size
    levels : integer array of length >= size, 0 to n_levels - 1, as by `all_levels`
    size : int, 2^m
    n_levels : int, m + 1 for the number of wrong labels
    best : float64 array of length >= n_levels; receives the scores, -inf where there is none
    masks : int64 array of length >= n_levels; receives the masks, -1 where there is none
    """
    for level in range(n_levels):
        best[level] = -np.inf
        masks[level] = -1
    for mask in range(size):
        level = levels[mask]
        if scores[mask] > best[level]:
            best[level] = scores[mask]
            masks[level] = mask


@kernel
def best_listed_within(
    scores,
    costs,
    size,
    truth_score,
    score_scale,
    cost_scale,
    low,
    high,
    with_high,
    banned,
    n_banned,
    saved,
):
    """Return the best mask whose slope lies between two bounds; -1 if there is none.

    Let h = scores[mask] - truth_score and g = costs[mask]. The answer has the highest
    score_scale * h + cost_scale * g among the masks with 1 + h > 0 and low < g / (1 + h) < high, or
    <= high if `with_high`. The computed quotient is compared without a tolerance, so a bound that
    is the quotient of an earlier answer equals the quotient of that answer exactly.

    The other parameters are those of `best_listed`. With low = -inf and high = inf, the only
    condition is 1 + h > 0.
    """
    _ban(scores, banned, n_banned, saved)
    top = -np.inf
    found = -1
    for mask in range(size):
        h = scores[mask] - truth_score
        g = costs[mask]
        value = score_scale * h + cost_scale * g
        # Compare the value first: once a good mask is found, few others need a division.
        if value > top and 1.0 + h > 0.0:
            slope = g / (1.0 + h)
            if slope > low and (slope < high or (with_high and slope == high)):
                top = value
                found = mask
    _unban(scores, banned, n_banned, saved)
    return found


@kernel
def _ban(scores, banned, n_banned, saved):
    for i in range(n_banned):
        saved[i] = scores[banned[i]]
        scores[banned[i]] = -np.inf


@kernel
def _unban(scores, banned, n_banned, saved):
    # Go backwards: of a mask that is banned twice, only the first entry of `saved` is its score.
    for i in range(n_banned - 1, -1, -1):
        scores[banned[i]] = saved[i]


@kernel
def labels_to_mask(y, m):
    """Return the mask of the labels y[:m]; unknown labels, -1, are off."""
    mask = 0
    for j in range(m):
        if y[j] == 1:
            mask |= 1 << j
    return mask


@kernel
def mask_to_labels(mask, m, y):
    """Write the labels of a mask into y[:m] (int32)."""
    for j in range(m):
        y[j] = (mask >> j) & 1
