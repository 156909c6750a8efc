"""Costs that look at the first k places only: precision at k and NDCG at k.

They are not monotone in j, so the divide and conquer does not apply. But if q negatives and
p = k - q positives fill the first k places, the cost depends on those places alone, and all samples
below them stand in the order of their scores. Two facts make the search short. Let q0 be the number
of negatives among the first k places of the ranking by score. Then q < q0 is never better, because
both score and cost would be lower. And for q >= q0 the negatives below place k stand where their
scores alone put them: only the first q move.

Scores of rankings are relative to the ranking by score, in units of 2 / (P N). A negative of score
v that stands at place a, where its score puts it at place o, loses the sum of |high[i] - v| over
the positives i between the two places.
"""

from __future__ import annotations

from maxmargin.core.compile import kernel
from maxmargin.inference.ranking.rule import discount

__all__ = ["best_top_dcg", "best_top_precision", "n_top_by_score", "place_top_dcg"]


@kernel
def n_top_by_score(places, n_top, k):
    """Return how many of the n_top highest negatives are in the first k places.

    places : int array; places[s] is how many positives stand above negative s in the order by score
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
        Running sums, the first of them 0, of the sorted scores of the positives and of the
        n_top = min(k, N) highest negatives. The caller may subtract one constant from all scores to
        keep the sums small.
    values, places : scores of these negatives, sorted, and their places by score
    k : int, not above P + N
    gain : float
        The cost gained when one positive less stands in the first k places, in units of scores.

    Each further negative gains the same cost and loses at least as much score as the one before it.
    So the search ends at the first negative whose loss is at least `gain`; a tie leaves it out.
    """
    q = n_top_by_score(places, n_top, k)
    after = q
    while q < n_top:
        p = k - q
        # Negative q + 1 moves above positives p..places[q], which stand above it by score.
        loss = 0.0
        if places[q] >= p:
            n_passed = places[q] - p + 1
            loss += high_sums[places[q]] - high_sums[p - 1] - n_passed * values[q]
        # Positive p moves below the first q negatives. By score it stands above negatives
        # after + 1..q, the last of them.
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

    per_discount : float, the cost of losing a discount of 1, in units of scores
    best : float64 workspace of length >= min(P, k) + 1

    best[a] is the highest value of all ways to fill a + b places with a positives and b negatives:
    the scores of these negatives, minus the discounts of these positives. The loop keeps one b at a
    time, so the time is min(P, k) min(N, k) and the memory min(P, k). Ties go to fewer negatives.
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
        # score is that of negative b: first above all positives, then below one more for each a.
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

    They fill the first k = p + q places. Places do not fall from one negative to the next, so the
    search for a negative starts at the place of the one before it. Of tied places the largest wins.
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
