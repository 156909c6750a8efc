"""ARFF files of CLUS, whose last attribute is a hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from maxmargin.cli.formats.base import Batch, Reader


@dataclass(frozen=True)
class ClusReader(Reader):
    """ARFF with places in a hierarchy: the names of the attributes before the class."""

    format = "clus"
    title = "ARFF of CLUS"
    holds = "places in a hierarchy"
    features: tuple[str, ...] = ()

    def read(self, path: Path, n_features: int | None = None) -> Batch:
        """Read a file that has the attributes of the training file."""
        from maxmargin.io import read_clus

        data = read_clus(path)
        if self.features and tuple(data.feature_names) != self.features:
            raise ValueError(
                f"{path} has other attributes than the file that the model was trained from."
            )
        return Batch(path, data.X, data.y, False, source=(data.nodes, data.edges))

    def settle(self, path: Path, own: Mapping[str, Any], is_named: bool) -> tuple[Self, Batch]:
        """Read a training file, and keep the names of its attributes."""
        from maxmargin.io import read_clus

        data = read_clus(path)
        reader = replace(self, features=tuple(data.feature_names))
        return reader, Batch(path, data.X, data.y, False, source=(data.nodes, data.edges))
