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

    def check(self, who: str, path: Path, is_sequence: bool) -> None:
        """Refuse a file whose samples are of the wrong sort."""
        if is_sequence != self.is_sequence:
            sorts = {True: "sequences", False: "single samples"}
            raise ValueError(
                f"{who} takes {sorts[self.is_sequence]}, but {path} holds {sorts[is_sequence]}."
            )


#: A new structure is a line here.
KINDS: dict[str, Kind] = {
    "chain": Kind("ChainSVM", is_sequence=True),
    "multiclass": Kind("MulticlassSVM", is_sequence=False),
    "multilabel": Kind("MultilabelSVM", is_sequence=False, has_label_sets=True),
}


def kind_called(name: str) -> Kind:
    """Return a kind by its name."""
    from maxmargin.estimators.settings import unknown

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
