"""What a kernel must offer."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np


class Kernel(Protocol):
    """A kernel, before or after it is bound to the training rows."""

    #: What its rows are: "rows" (of a matrix), "gram" (products with the training rows), "strings",
    #: or "anything".
    takes: ClassVar[str]

    def bound(self, rows: Any) -> Kernel:
        """Return the kernel with all that depends on the training rows fixed; check them."""
        ...

    def gram(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the products of the rows X with the rows Y, by default with themselves."""
        ...

    def diagonal(self, X: Any) -> np.ndarray:
        """Return the product of every row with itself."""
        ...

    def whole(self, rows: Any) -> np.ndarray | None:
        """Return the Gram matrix of training rows if it was given, None if it is computed."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that make an equal kernel."""
        ...
