"""The best labelling of a chain at every Hamming distance from a reference.

One dynamic programme over (position, number of mismatches so far, label): about L / 2 times the
work of `best_path`. Sums are taken in the order of `best_path`, so the highest level has its score.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import kernel


@kernel
def path_profile(unary, transitions, start, end, reference, delta, scores, paths):
    """Find a best labelling for each number of mismatches with the reference, 0 to L.

    Parameters
    ----------
    unary, transitions, start, end : potentials as for `best_path`
    reference : int32 array of length >= L; a negative label never counts as a mismatch
    delta : float64 workspace of shape (>= L, >= L, K): delta[t, c, k] is the best beginning that
        reaches label k at position t with c mismatches before t, the unary of t not yet added
    scores : float64 array of length >= L + 1; scores[c] receives the best score with c mismatches,
        -inf if there is none
    paths : int32 array of shape (>= L + 1, >= L); row c receives that labelling, or -1 throughout
    """
    length, n_labels = unary.shape
    for k in range(n_labels):
        delta[0, 0, k] = start[k]
    for t in range(1, length):
        for c in range(t + 1):
            for k in range(n_labels):
                delta[t, c, k] = -np.inf
            for j in range(n_labels):
                score = _arrival(unary, reference, delta, t - 1, c, j)
                for k in range(n_labels):
                    onward = score + transitions[j, k]
                    delta[t, c, k] = onward if onward > delta[t, c, k] else delta[t, c, k]

    for level in range(length + 1):
        scores[level] = -np.inf
        label = 0
        for k in range(n_labels):
            score = _arrival(unary, reference, delta, length - 1, level, k) + end[k]
            if score > scores[level]:
                scores[level] = score
                label = k
        if scores[level] == -np.inf:
            for t in range(length):
                paths[level, t] = -1
            continue
        c = level
        for t in range(length - 1, -1, -1):
            paths[level, t] = label
            c -= _is_mismatch(reference, t, label)
            if t == 0:
                break
            # As in best_path, the recorded maximum is one of these sums to the last bit.
            after = label
            label = 0
            for j in range(n_labels):
                score = _arrival(unary, reference, delta, t - 1, c, j)
                if score + transitions[j, after] == delta[t, c, after]:
                    label = j
                    break


@kernel
def _arrival(unary, reference, delta, t, level, label):
    """Best beginning through `label` at position t with `level` mismatches up to and with t."""
    c = level - _is_mismatch(reference, t, label)
    if c < 0 or c > t:
        return -np.inf
    return delta[t, c, label] + unary[t, label]


@kernel
def _is_mismatch(reference, t, label):
    """1 if the label differs from a known reference, else 0."""
    return 1 if reference[t] >= 0 and reference[t] != label else 0
