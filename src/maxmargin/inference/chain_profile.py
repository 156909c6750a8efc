"""The best labelling of a chain at every Hamming distance from a reference.

One dynamic programme over (position, number of mismatches so far, label): about L / 2 times the
work of `best_path`, laid out as it is. Sums are taken in the same order too, so the best level has
exactly the score of the best labelling.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import kernel


@kernel
def path_profile(unary, transitions, start, end, reference, delta, arrival, scores, paths):
    """Find a best labelling for each number of mismatches with the reference, 0 to L.

    Parameters
    ----------
    unary, transitions, start, end : potentials as for `best_path`
    reference : int32 array of length >= L; a negative label never counts as a mismatch
    delta : float64 workspace of shape (>= L, >= L, K): delta[t, c, k] is the best beginning that
        reaches label k at position t with c mismatches before t, the unary of t not yet added
    arrival : float64 workspace of shape (K,)
    scores : float64 array of length >= L + 1; scores[c] receives the best score with c mismatches,
        -inf if there is none
    paths : int32 array of shape (>= L + 1, >= L); row c receives that labelling, or -1 throughout
    """
    length, n_labels = unary.shape
    n_fours = n_labels - n_labels % 4
    for k in range(n_labels):
        delta[0, 0, k] = start[k]
    for t in range(1, length):
        for c in range(t + 1):
            for k in range(n_labels):
                before = _level_before(reference[t - 1], k, c, t - 1)
                arrival[k] = delta[t - 1, before, k] + unary[t - 1, k] if before >= 0 else -np.inf
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
    for level in range(length + 1):
        scores[level] = -np.inf
        label = 0
        for k in range(n_labels):
            before = _level_before(reference[last], k, level, last)
            if before >= 0:
                score = (delta[last, before, k] + unary[last, k]) + end[k]
                if score > scores[level]:
                    scores[level] = score
                    label = k
        if scores[level] == -np.inf:
            for t in range(length):
                paths[level, t] = -1
            continue
        paths[level, last] = label
        c = _level_before(reference[last], label, level, last)
        for t in range(last, 0, -1):
            # As in best_path, the recorded maximum is one of these sums to the last bit.
            after = label
            target = delta[t, c, after]
            for j in range(n_labels):
                before = _level_before(reference[t - 1], j, c, t - 1)
                if before >= 0:
                    score = (delta[t - 1, before, j] + unary[t - 1, j]) + transitions[j, after]
                    if score == target:
                        label = j
                        c = before
                        break
            paths[level, t - 1] = label


# Numbers only: a helper that took the arrays made the whole kernel over ten times slower.
@kernel
def _level_before(known, label, level, t):
    """Mismatches before position t if there are `level` up to and with t; -1 if impossible."""
    if known >= 0 and known != label:
        level -= 1
    return level if level <= t else -1
