"""What can be trained, by its name on the command line; commands know kinds from here alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maxmargin.cli.kinds.base import Kind
from maxmargin.cli.kinds.chain import Chain
from maxmargin.cli.kinds.graph import Graph
from maxmargin.cli.kinds.hierarchy import Hierarchy
from maxmargin.cli.kinds.multiclass import Multiclass
from maxmargin.cli.kinds.multilabel import Multilabel
from maxmargin.cli.kinds.parser import Parser
from maxmargin.cli.kinds.ranking import Ranking
from maxmargin.cli.options import OwnOptions

__all__ = [
    "KINDS",
    "Kind",
    "kind_called",
    "kind_of",
    "listed",
    "own_options",
    "refuse_foreign",
    "told",
]

#: A new kind is a line here.
KINDS: dict[str, Kind] = {
    "chain": Chain(),
    "graph": Graph(),
    "hierarchy": Hierarchy(),
    "multiclass": Multiclass(),
    "multilabel": Multilabel(),
    "parser": Parser(),
    "ranking": Ranking(),
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


def own_options(command: str) -> list[OwnOptions]:
    """Return the groups of options that a command has for some of the kinds."""
    groups: list[OwnOptions] = []
    for kind in KINDS.values():
        groups += [group for group in kind.options.get(command, ()) if group not in groups]
    return groups


def refuse_foreign(command: str, kind: Kind, own: Mapping[str, Any], /, **words: Any) -> None:
    """Refuse options that are for other kinds, in the words of their group."""
    groups = kind.options.get(command, ())
    allowed = {name for group in groups for name in group.options}
    for group in own_options(command):
        group.refuse(own, group.refusal.format(**words), allowed)


def told(of: str) -> list[str]:
    """Return what help says of single kinds, about a command or an option.

    Examples
    --------
    >>> told("C")
    ['0.1 for rankings']
    """
    return [kind.told[of] for kind in KINDS.values() if of in kind.told]


def listed(texts: list[str]) -> str:
    """Return an enumeration.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
