"""ARFF, whose attributes are features and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from maxmargin.cli.formats.base import Batch, Reader


@dataclass(frozen=True)
class ArffReader(Reader):
    """ARFF with label sets: which attributes are labels, and the names of the others in order."""

    format = "arff"
    title = "ARFF"
    holds = "label sets"
    labels: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file that has the attributes of the training file, with or without the labels."""
        from maxmargin.io import read_arff
        from maxmargin.io.files import rereadable

        source = rereadable(path)
        try:
            data = read_arff(source, list(self.labels))
        except ValueError:
            data = read_arff(source)
            if set(self.labels) & set(data.feature_names):
                raise
        self._check_features(path, data.feature_names)
        return Batch(path, data.X, data.Y, False, classes=list(self.labels))

    def settle(self, path: Path, own: Mapping[str, Any], is_named: bool) -> tuple[Self, Batch]:
        """Read a training file, of which --labels says which attributes are labels."""
        from maxmargin.io import read_arff

        if own["labels"] is None:
            raise ValueError(
                f"--labels must say which attributes of {path} are labels: the xml file of Mulan, "
                "a number (the first so many; negative, the last), or names parted by commas."
            )
        data = read_arff(path, label_attributes(own["labels"]))
        reader = replace(self, labels=tuple(data.label_names), features=tuple(data.feature_names))
        return reader, Batch(path, data.X, data.Y, False, classes=data.label_names)

    def for_model(self, estimator: Any) -> Self:
        """Return a reader for which the labels of a model are the attributes of that name."""
        return replace(self, labels=tuple(map(str, estimator.classes_)))

    def _check_features(self, path: Path, names: list[str]) -> None:
        expected = list(self.features)
        if not expected or names == expected:
            return
        if len(names) != len(expected):
            raise ValueError(
                f"{path} has {len(names)} attributes that are no labels; the model expects "
                f"{len(expected)}."
            )
        j = next(j for j, name in enumerate(names) if name != expected[j])
        raise ValueError(
            f"{path} has the attribute {names[j]!r} where the model expects {expected[j]!r}."
        )


def label_attributes(text: str) -> Path | int | list[str]:
    """Return which attributes of an ARFF file are labels, as `read_arff` takes it.

    Examples
    --------
    >>> label_attributes("-14"), label_attributes("sad,happy")
    (-14, ['sad', 'happy'])
    >>> label_attributes("yeast.xml").name
    'yeast.xml'
    """
    if text.lstrip("+-").isdigit():
        return int(text)
    if text.lower().endswith((".xml", ".xml.gz")):
        return Path(text)
    return text.split(",")
