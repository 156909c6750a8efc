"""From what users pass to arrays: labels, sequences, rows, queries, constraints. No learning."""
