"""Costs that look at the first k places only: precision at k and NDCG at k.

They are not monotone in j, so the divide and conquer does not apply. But if q negatives and
p = k - q positives fill the first k places, the cost depends on those places alone, and all below
them stand by score. Two facts make the search short. By score alone q0 negatives are among the
first k; fewer never pay, as score and cost would both fall. And with q >= q0 the negatives below
place k stand where their scores alone put them: only the first q move.

Scores of rankings are relative to the ranking by score, in units of 2 / (P N). A negative of score
v that stands at place a instead of its own place o loses the sum of |high[i] - v| between them.
"""

from __future__ import annotations

from maxmargin.core.compile import kernel
from maxmargin.inference.ranking.rule import discount

__all__ = ["best_top_dcg", "best_top_precision", "n_top_by_score", "place_top_dcg"]


@kernel
def n_top_by_score(places, n_top, k):
    """Return how many of the n_top highest negatives are in the first k places.

    places : int array, in which place each of them stands: how many positives are above it.
    """
    q = 0
    while q < n_top and q + 1 + places[q] <= k:
        q += 1
    return q


@kernel
def best_top_precision(high_sums, values, value_sums, places, n_top, k, gain):
    """Return how many negatives to put in the first k places, precision at k being the cost.

    Parameters
    ----------
    high_sums, value_sums : float64 arrays
        Running sums of the sorted scores of the positives and of the n_top = min(k, N) highest
        negatives, from 0 on. A constant may be taken off all scores to keep the sums small.
    values, places : scores of these negatives, sorted, and their places by score
    k : int, not above P + N
    gain : float
        What one positive less in the first k places is worth.

    One more negative loses ever more score and gains the same cost, so the first that does not pay
    is the last to look at. On a tie it does not pay.
    """
    q = n_top_by_score(places, n_top, k)
    after = q
    while q < n_top:
        p = k - q
        # Negative q + 1 passes the positives from p on, which its score had put it below.
        loss = 0.0
        if places[q] >= p:
            n_passed = places[q] - p + 1
            loss += high_sums[places[q]] - high_sums[p - 1] - n_passed * values[q]
        # Positive p falls behind the first q negatives; those that it had been above are the last.
        while after > 0 and places[after - 1] >= p:
            after -= 1
        if after < q:
            high = high_sums[p] - high_sums[p - 1]
            loss += (q - after) * high - (value_sums[q] - value_sums[after])
        if loss >= gain:
            break
        q += 1
    return q


@kernel
def best_top_dcg(discounts, high_sums, values, places, n_top, P, k, per_discount, best):
    """Return how many negatives to put in the first k places, NDCG at k being the cost.

    per_discount : float, what a discount of 1 is worth
    best : float64 workspace of length >= min(P, k) + 1

    best[a] is the highest value of all ways to fill a + b places with a positives and b negatives:
    the scores of these negatives, minus the discounts of these positives. One b at a time: the time
    is min(P, k) min(N, k), the memory min(P, k). Ties go to fewer negatives.
    """
    q = n_top_by_score(places, n_top, k)
    if q == n_top:
        return q
    best[0] = 0.0
    for a in range(1, min(P, k) + 1):
        best[a] = best[a - 1] - per_discount * discount(discounts, a)
    found = q
    value = best[k] if q == 0 else 0.0
    for b in range(1, n_top + 1):
        # Of negative b above all positives, and then below one after the other.
        score = places[b - 1] * values[b - 1] - high_sums[places[b - 1]]
        best[0] += score
        for a in range(1, min(P, k - b) + 1):
            score += high_sums[a] - high_sums[a - 1] - values[b - 1]
            best[a] = max(best[a] + score, best[a - 1] - per_discount * discount(discounts, a + b))
        if b == q or (b > q and best[k - b] > value):
            found = b
            value = best[k - b]
    return found


@kernel
def place_top_dcg(discounts, high, values, q, p, per_discount, places):
    """Write the best places of q negatives among p positives, both sorted, into places[:q].

    They fill the first k = p + q places. No place before that of the negative before is looked at,
    as places do not fall; of ties the largest wins.
    """
    low = 0
    for s in range(q):
        total = 0.0
        for i in range(low + 1, p + 1):
            rank = i + s + 1
            drop = discount(discounts, rank - 1) - discount(discounts, rank)
            total += high[i - 1] - values[s] - per_discount * drop
            if total >= 0.0:
                low = i
                total = 0.0
        places[s] = low
