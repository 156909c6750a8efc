"""Sorted lists of the k best scores, merged: of several labels, and of independent parts.

Lists go from the highest score down, and are filled up with -inf.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.compile import kernel

__all__ = ["merge_lists", "merge_sums"]


@kernel
def merge_lists(lists, first, n_lists, added, k, message, head):
    """Merge the lists lists[first + x] + added[x], x = 0 .. n_lists - 1, into message.

    Parameters
    ----------
    lists : float64 array of shape (n_rows, >= k)
    added : float64 array of length >= n_lists
    message : float64 array of length >= k
    head : int32 array of shape (3, >= max(k, n_lists)). head[1, r] and head[2, r] receive the list
        and the rank that entry r came from; head[0] is scratch
    """
    for x in range(n_lists):
        head[0, x] = 0
    for rank in range(k):
        top = -np.inf
        source = -1
        for x in range(n_lists):
            if head[0, x] < k:
                value = lists[first + x, head[0, x]] + added[x]
                if value > top:
                    top = value
                    source = x
        message[rank] = top
        if source >= 0:
            head[1, rank] = source
            head[2, rank] = head[0, source]
            head[0, source] += 1


@kernel
def merge_sums(best, message, k, part, head, chosen):
    """Replace the list `best` by the k highest sums of one entry of it and one of `message`.

    Parameters
    ----------
    best, message : float64 arrays of length >= k
    part : float64 workspace of length >= k
    head : int32 array of shape (3, >= k), as `merge_lists` left it
    chosen : int32 array of shape (3, >= k). It receives for each entry its rank in the old list,
        and the list and the rank that its entry of the message came from
    """
    for rank in range(k):
        part[rank] = best[rank]
        head[0, rank] = 0
    n_open = 1  # entry c of the old list can be used only after entry c - 1 has been used
    for rank in range(k):
        top = -np.inf
        first = -1
        for c in range(n_open):
            if head[0, c] < k:
                value = part[c] + message[head[0, c]]
                if value > top:
                    top = value
                    first = c
        best[rank] = top
        if first < 0:
            continue
        there = head[0, first]
        chosen[0, rank] = first
        chosen[1, rank] = head[1, there]
        chosen[2, rank] = head[2, there]
        head[0, first] += 1
        if first == n_open - 1 and n_open < k:
            n_open += 1
