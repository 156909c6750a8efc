"""Draw the picture of docs/parsing.md: a sentence that a small parser gets partly wrong."""

from __future__ import annotations

from pathlib import Path

from maxmargin import plots

WORDS = ["She", "saw", "the", "man", "with", "a", "telescope", "."]
TRUTH = [
    (2, "nsubj"), (0, "root"), (4, "det"), (2, "obj"), (7, "case"), (7, "det"), (2, "obl"),
    (2, "punct"),
]  # fmt: skip
#: As a first-order parser may read it: the man has the telescope, and "the" is no determiner.
FOUND = [*TRUTH[:2], (4, "amod"), *TRUTH[3:6], (4, "nmod"), TRUTH[7]]

if __name__ == "__main__":
    ax = plots.parse_tree(WORDS, FOUND, TRUTH)
    target = Path(__file__).resolve().parents[1] / "docs" / "images" / "parse.png"
    ax.figure.savefig(target, dpi=110, bbox_inches="tight")
