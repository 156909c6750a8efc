"""Label sets: any number of labels per example.

What all of them share has the names of the other packages: data.py, parts.py and oracles.py, with
costs.py and levels.py. Each way of inference is a type of data with algorithms of its own, and so a
file of its own: independent.py, tree.py, listed.py, pairwise.py, relaxed.py and program.py. The
profile of independent labels, the costs of listed ones and the oracles of programmes are in a
second file each.
"""
