"""The best labelling of a chain at every level of a cost that is counted in steps.

Label k at position t costs step[t, k] steps (0 or 1 for the Hamming cost). One dynamic programme
runs over (position, steps so far, label). For the Hamming cost it takes about L / 2 times the work
of `best_path`. Its loops are laid out as those of `best_path`, and sums are taken in the same
order, so the best level has exactly the score of the best labelling.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel


@kernel
def profile_scores(unary, transitions, start, end, step, limit, reach, delta, arrival, scores):
    """Find the best score of each level up to ``limit``; return the number of levels.

    Parameters
    ----------
    unary, transitions, start, end : potentials as for `best_path`
    step : int32 array of shape (>= L, K), >= 0
    limit : int, >= 0
        The largest level wanted. Levels above it are left out, which saves their work.
    reach : int64 workspace of length >= L + 1: reach[t] receives the most steps before position t,
        or the limit
    delta : float64 workspace of shape (>= L, >= reach[L - 1] + 1, K): delta[t, c, k] is the best
        beginning that reaches label k at position t with c steps before t, the unary of t not yet
        added
    arrival : float64 workspace of shape (K,)
    scores : float64 array of length >= reach[L] + 1; scores[c] receives the best score with c
        steps, -inf if there is none
    """
    length, n_labels = unary.shape
    n_fours = n_labels - n_labels % 4
    reach[0] = 0
    for t in range(length):
        most = 0
        for k in range(n_labels):
            most = max(most, step[t, k])
        reach[t + 1] = min(reach[t] + most, limit)
    for k in range(n_labels):
        delta[0, 0, k] = start[k]
    for t in range(1, length):
        for c in range(reach[t] + 1):
            for k in range(n_labels):
                before = c - step[t - 1, k]
                within = before >= 0 and before <= reach[t - 1]
                arrival[k] = delta[t - 1, before, k] + unary[t - 1, k] if within else -np.inf
                delta[t, c, k] = -np.inf
            for j in range(0, n_fours, 4):
                from0 = arrival[j]
                from1 = arrival[j + 1]
                from2 = arrival[j + 2]
                from3 = arrival[j + 3]
                for k in range(n_labels):
                    score0 = from0 + transitions[j, k]
                    score1 = from1 + transitions[j + 1, k]
                    score2 = from2 + transitions[j + 2, k]
                    score3 = from3 + transitions[j + 3, k]
                    top01 = score0 if score0 > score1 else score1
                    top23 = score2 if score2 > score3 else score3
                    top = top01 if top01 > top23 else top23
                    delta[t, c, k] = top if top > delta[t, c, k] else delta[t, c, k]
            for j in range(n_fours, n_labels):
                from0 = arrival[j]
                for k in range(n_labels):
                    score0 = from0 + transitions[j, k]
                    delta[t, c, k] = score0 if score0 > delta[t, c, k] else delta[t, c, k]

    last = length - 1
    for level in range(reach[length] + 1):
        scores[level] = -np.inf
        for k in range(n_labels):
            before = level - step[last, k]
            if before >= 0 and before <= reach[last]:
                score = (delta[last, before, k] + unary[last, k]) + end[k]
                if score > scores[level]:
                    scores[level] = score
    return reach[length] + 1


@kernel
def profile_path(unary, transitions, end, step, reach, delta, level, score, path):
    """Write to `path` the best labelling of `level`, after `profile_scores`.

    score : float, scores[level] as `profile_scores` wrote it; must not be -inf

    The other parameters are those of `profile_scores`.
    """
    length, n_labels = unary.shape
    last = length - 1
    label = c = 0
    for k in range(n_labels):
        before = level - step[last, k]
        if before < 0 or before > reach[last]:
            continue
        if (delta[last, before, k] + unary[last, k]) + end[k] == score:
            label, c = k, before
            break
    path[last] = label
    for t in range(last, 0, -1):
        # As in `best_path`, delta[t, c, after] equals one of these sums exactly.
        after = label
        target = delta[t, c, after]
        for j in range(n_labels):
            before = c - step[t - 1, j]
            if before < 0 or before > reach[t - 1]:
                continue
            if (delta[t - 1, before, j] + unary[t - 1, j]) + transitions[j, after] == target:
                label, c = j, before
                break
        path[t - 1] = label
