"""Costs of rankings: average precision, NDCG, AUC, and those of the first k places."""
