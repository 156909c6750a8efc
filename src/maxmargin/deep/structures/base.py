"""What a structure is to a torch layer: which tensors score its parts, and how a batch is encoded.

Every structure of `maxmargin.structures` has weights w, and scores linear in them. A batch is
encoded with the rows of a unit matrix for features: then the weights *are* the potentials of the
batch, one after the other, and the joint features of an output are its parts. So the oracles, costs
and searches of the solvers serve a net as they are: a loss at w is the loss of the batch, and
psi_h * (phi(y) - phi(y_i)) is its gradient in the potentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.costs import tabulate
from maxmargin.training.settings import resolve_cost


class Slot(NamedTuple):
    """Where a tensor of potentials lies among the weights of an encoded batch.

    The tensor is seen as a matrix whose rows have `width` numbers. Its rows ``rows``, all of them
    if None, lie one after the other from weight `at` on, or `step` weights apart if that is not 0.
    What the batch pads is in no slot.
    """

    rows: np.ndarray | None
    at: int
    width: int
    step: int = 0

    def put(self, tensor: np.ndarray, w: np.ndarray) -> None:
        """Copy potentials to the weights."""
        matrix = tensor.reshape(-1, self.width)
        chosen = matrix if self.rows is None else matrix[self.rows]
        self._cells(w, len(chosen))[:] = chosen

    def take(self, w: np.ndarray, tensor: np.ndarray) -> None:
        """Copy weights, or a gradient, to where potentials come from."""
        matrix = tensor.reshape(-1, self.width)
        if self.rows is None:
            matrix[:] = self._cells(w, len(matrix))
        else:
            matrix[self.rows] = self._cells(w, len(self.rows))

    def _cells(self, w: np.ndarray, n_rows: int) -> np.ndarray:
        """Return the weights as a matrix, a view."""
        if self.step:
            return w[: n_rows * self.step].reshape(n_rows, -1)[:, self.at : self.at + self.width]
        return w[self.at : self.at + n_rows * self.width].reshape(n_rows, self.width)


class Encoded(NamedTuple):
    """A batch as solvers know examples.

    Examples without any part (empty sequences) are left out: ``kept`` has the places of the others.
    ``frame`` are sizes that the workspaces of oracles grow with. A problem that was made for larger
    ones, and for arrays of the same shapes, can be used again. Batches of a structure with equal
    ``key`` are known to have arrays of the same shapes; None where that must be looked up.
    """

    data: Any
    slots: dict[str, Slot]
    kept: np.ndarray
    n_examples: int  # of the batch, those without parts too
    n_tokens: int
    frame: tuple[int, ...] = ()
    key: tuple[Any, ...] | None = None
    sizes: bytes | None = None  # equal: the tables of a cost are equal too, whatever the truths are


class LayerStructure:
    """Base of the structures of torch layers.

    A structure has ``names``, the tensors of potentials in the order in which a layer takes them,
    of which those after the first ``n_required`` may be None or left out; ``kind``, the kind of
    parts that costs price; and the methods below.
    """

    names: ClassVar[tuple[str, ...]]
    n_required: ClassVar[int] = 1
    kind: ClassVar[str]

    @property
    def classes(self) -> Sequence[Any]:
        """What costs know the labels by: their numbers."""
        raise NotImplementedError

    def read_truths(self, truths: Any) -> Any:
        """Return true outputs as `encode` takes them: an array of integers, or None."""
        from maxmargin.deep.tensors import as_integers  # not at the top: it imports this module

        return as_integers("truths", truths)

    def resolve_cost(self, cost: Any) -> Any:
        """Return the cost that a parameter stands for; refuse one that does not price the parts."""
        return resolve_cost(cost, self.kind)

    def tables(self, cost: Any, data: Any) -> Any:
        """Return a cost as compiled code reads it, for a batch."""
        return tabulate(cost, data, self.classes)

    def encode(
        self,
        shapes: dict[str, tuple[int, ...]],
        truths: np.ndarray | None,
        lengths: np.ndarray | None,
        edges: Any = None,
        relaxed: bool = True,
    ) -> Encoded:
        """Return a batch, given the shapes of its potentials; refuse what is no output of it.

        ``truths`` is None where only the best outputs are asked for. ``relaxed`` is False where
        outputs must be integral, whatever training takes.
        """
        raise NotImplementedError

    def outputs(
        self, encoded: Encoded, shapes: dict[str, tuple[int, ...]], cells: list[np.ndarray]
    ) -> np.ndarray:
        """Return the outputs of a batch as truths are given, -1 where it is padded."""
        raise NotImplementedError

    def best_together(self, arrays: dict[str, np.ndarray], encoded: Encoded) -> np.ndarray | None:
        """Return the best outputs of a batch as `outputs` does; None: the oracles are to be asked.

        For structures that have a shorter way from potentials to outputs.
        """
        return None

    def beside(self, encoded: Encoded, edges: Any, cost: Any) -> list[Any] | None:
        """Return what `k_best` and `expected` need of each example besides its potentials."""
        return None

    def k_best(self, own: dict[str, np.ndarray], k: int, edges: Any) -> list[tuple[Any, float]]:
        """Return the k best outputs of one example with their scores, best first.

        ``own`` are its potentials, cut to its length; ``edges`` is what `beside` has of it.
        """
        raise TypeError(f"{type(self).__name__} has no k best outputs.")

    def expected(
        self, own: dict[str, np.ndarray], edges: Any
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return log sum_y exp(score(y)) of one example, and the expected parts.

        The parts have the shapes of the potentials, those that are shared counted for this example.
        """
        raise TypeError(
            f"{type(self).__name__} has no marginals: its outputs cannot be summed over."
        )

    def expected_together(
        self, arrays: dict[str, np.ndarray], encoded: Encoded
    ) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        """Return what `expected` does for all examples at once; None: ask for one after the other.

        Parts of shared potentials have an axis more in front, for examples.
        """
        return None

    def own_potentials(
        self, arrays: dict[str, np.ndarray], i: int, length: int | None
    ) -> dict[str, np.ndarray]:
        """Return the potentials of example i, cut to its length."""
        return {
            name: array if self.is_shared(name, array) else array[i, :length]
            for name, array in arrays.items()
        }

    def is_shared(self, name: str, array: np.ndarray) -> bool:
        """Tell whether all examples of a batch share these potentials."""
        return name not in self.names[:1]

    def score(self, potentials: dict[str, Any], truths: Any, lengths: Any, edges: Any) -> Any:
        """Return the scores of outputs, one per example, as differentiable torch code."""
        raise TypeError(f"{type(self).__name__} has no log-likelihood.")


@lru_cache(maxsize=64)
def unit_rows(n_rows: int) -> Any:
    """Return the unit matrix as the features of a batch."""
    return sp.identity(n_rows, format="csr", dtype=np.float64)


def with_room(n: int) -> int:
    """Return a number >= n, one of few: batches of like sizes then have arrays of the same shapes.

    Examples
    --------
    >>> [with_room(n) for n in (1, 64, 65, 700, 800)]
    [64, 64, 80, 768, 896]
    """
    step = max(1 << max(int(n).bit_length() - 3, 0), 16)
    return max(-(-int(n) // step) * step, 64)


def check_shape(name: str, shape: tuple[int, ...], expected: tuple[Any, ...]) -> None:
    """Refuse potentials of another shape; numbers are required sizes, words stand for any."""
    fits = len(shape) == len(expected) and all(
        isinstance(size, str) or size == own for size, own in zip(expected, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join(map(str, expected)) + ("," if len(expected) == 1 else "")
        raise ValueError(f"{name} must have the shape ({wanted}), got {tuple(shape)}.")


def check_truths(truths: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return truths as an array of integers of this shape."""
    array = np.asarray(truths)
    if array.dtype.kind not in "iub":
        raise TypeError(f"truths must be integers, got {array.dtype}.")
    if array.shape != shape:
        raise ValueError(f"truths must have the shape {shape}, got {array.shape}.")
    return array


def check_range(truths: np.ndarray, is_part: np.ndarray | None, low: int, high: int) -> None:
    """Refuse true labels outside low..high, where they are part of an example."""
    if truths.size == 0 or (truths.min() >= low and truths.max() <= high):
        return
    wrong = (truths < low) | (truths > high)
    if is_part is not None:
        wrong &= is_part
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        where = ", ".join(map(str, place))
        raise ValueError(f"truths[{where}] is {truths[place]}; expected {low} to {high}.")


def check_lengths(lengths: Any, n_examples: int, longest: int) -> np.ndarray:
    """Return the lengths of a batch, all of them `longest` if None."""
    if lengths is None:
        return np.full(n_examples, longest, dtype=np.int64)
    array = np.asarray(lengths)
    if array.dtype.kind not in "iu" or array.shape != (n_examples,):
        raise ValueError(
            f"lengths must be {n_examples} integers, one per example; got {array.dtype} of shape "
            f"{array.shape}."
        )
    wrong = np.flatnonzero((array < 0) | (array > longest))
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(
            f"lengths[{i}] is {array[i]}, but the batch is padded to {longest}: expected 0 to "
            f"{longest}."
        )
    return array.astype(np.int64)


def no_lengths(lengths: Any, structure: LayerStructure) -> None:
    """Refuse lengths where all examples have the same parts."""
    if lengths is not None:
        raise ValueError(f"lengths is given, but {type(structure).__name__} pad nothing.")


def no_edges(edges: Any, structure: LayerStructure) -> None:
    """Refuse edges where the structure has none of the batch."""
    if edges is not None:
        raise ValueError(f"edges is given, but {type(structure).__name__} take none with a batch.")


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return a number of labels or the like."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}.")
    return int(value)
