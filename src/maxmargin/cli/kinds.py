"""What can be trained: a name on the command line, an estimator, and the samples it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kind:
    """An estimator by the name of its class, and what its samples and their outputs are."""

    estimator: str
    is_sequence: bool
    has_label_sets: bool = False
    has_queries: bool = False

    def format_of(self, path: Path) -> str:
        """Return the format that a file's name announces; rankings call theirs .txt, as LETOR does.

        Examples
        --------
        >>> [KINDS[kind].format_of(Path("train.txt.gz")) for kind in ("ranking", "chain")]
        ['svmlight', 'conll']
        """
        from maxmargin.io import file_format

        name = file_format(path)
        is_txt = name == "conll" and ".txt" in path.name.lower()[-7:]
        return "svmlight" if self.has_queries and is_txt else name

    def check_format(self, path: Path, name: str) -> None:
        """Refuse a format that cannot hold samples of this kind."""
        if self.has_queries and name in ("conll", "arff"):
            raise ValueError(
                f"{path} is of format {name}, which holds no queries: rankings come as svmlight "
                "with qid, or npz."
            )

    def check(self, who: str, path: Path, is_sequence: bool) -> None:
        """Refuse a file whose samples are of the wrong sort."""
        if is_sequence != self.is_sequence:
            sorts = {True: "sequences", False: "single samples"}
            # CoNLL goes by names that other files have too.
            is_text = is_sequence and ".txt" in path.name.lower()[-7:]
            hint = " If it is no CoNLL file, --format says what it is." if is_text else ""
            raise ValueError(
                f"{who} takes {sorts[self.is_sequence]}, but {path} holds {sorts[is_sequence]}."
                + hint
            )


#: A new structure is a line here.
KINDS: dict[str, Kind] = {
    "chain": Kind("ChainSVM", is_sequence=True),
    "multiclass": Kind("MulticlassSVM", is_sequence=False),
    "multilabel": Kind("MultilabelSVM", is_sequence=False, has_label_sets=True),
    "ranking": Kind("RankingSVM", is_sequence=False, has_queries=True),
}


def kind_called(name: str) -> Kind:
    """Return a kind by its name."""
    from maxmargin.inputs.checks import unknown

    if name not in KINDS:
        raise unknown("kind", name, KINDS)
    return KINDS[name]


def kind_of(estimator: Any, path: Path) -> Kind:
    """Return the kind of a fitted estimator."""
    name = type(estimator).__name__
    for kind in KINDS.values():
        if kind.estimator == name:
            return kind
    raise ValueError(f"{path} holds a {name}, which the command line cannot feed from files.")
