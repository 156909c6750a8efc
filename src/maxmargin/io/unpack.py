"""Unpacking with a limit: a small file may not fill the memory of who reads it."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import IO, Any

__all__ = ["Gunzip", "most_unpacked", "to_dense"]

#: Always allowed: any machine has so many bytes, however small the packed file is.
_FLOOR = 256 << 20
#: Text packs into a tenth or twentieth of its length; gzip's own limit is 1032.
_RATIO = 100
_CHUNK = 1 << 16


def most_unpacked(packed: int) -> int:
    """The most bytes that a packed file of `packed` bytes may unpack to.

    Examples
    --------
    >>> most_unpacked(1000) == 256 << 20, most_unpacked(10**9) == 10**11
    (True, True)
    """
    return max(_FLOOR, _RATIO * packed)


class Gunzip(io.RawIOBase):
    """The contents of a gzip file of one member or several.

    Raises `gzip.BadGzipFile` where the file is cut, damaged, followed by something else, or unpacks
    to more than :func:`most_unpacked` of what was read of it.

    Examples
    --------
    >>> Gunzip(io.BytesIO(gzip.compress(b"one ") + gzip.compress(b"two"))).read()
    b'one two'
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self._member = zlib.decompressobj(wbits=31)
        self._waiting = b""
        self._packed = self._unpacked = 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def close(self) -> None:
        """Close the packed file as well."""
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`; 0 at the end."""
        view = memoryview(buffer).cast("B")
        while True:
            if self._member.eof and not self._next_member():
                return 0
            if not self._waiting:
                self._waiting = self._file.read(_CHUNK)
                self._packed += len(self._waiting)
                if not self._waiting:
                    raise gzip.BadGzipFile("it ends before its last block does")
            try:
                found = self._member.decompress(self._waiting, len(view))
            except zlib.error as error:
                raise gzip.BadGzipFile(str(error)) from None
            self._waiting = self._member.unconsumed_tail or self._member.unused_data
            if found:
                break
        self._unpacked += len(found)
        if self._unpacked > most_unpacked(self._packed):
            raise gzip.BadGzipFile(
                f"it unpacks to more than {_RATIO} times its length, {most_unpacked(self._packed)} "
                "bytes; if that is meant, unpack it first (gunzip)"
            )
        view[: len(found)] = found
        return len(found)

    def _next_member(self) -> bool:
        """Go to the next member after the end of one; zeros that fill a block are skipped."""
        while True:
            self._waiting = self._waiting.lstrip(b"\0")
            if self._waiting:
                break
            self._waiting = self._file.read(_CHUNK)
            self._packed += len(self._waiting)
            if not self._waiting:
                return False
        self._member = zlib.decompressobj(wbits=31)
        return True


def to_dense(X: Any, name: str) -> Any:
    """`X` as an array; refused where it is so empty that the array would fill the memory.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> to_dense(csr_matrix([[0.0, 2.0]]), "a.svm")
    array([[0., 2.]])
    >>> to_dense(csr_matrix((10**5, 10**6)), "a.svm")
    Traceback (most recent call last):
        ...
    ValueError: a.svm: 100000 rows of 1000000 columns would take 800 GB as a dense array, ...
    """
    if not hasattr(X, "toarray"):
        return X
    rows, columns = X.shape
    n_bytes = rows * columns * X.dtype.itemsize
    if n_bytes > most_unpacked(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes):
        raise ValueError(
            f"{name}: {rows} rows of {columns} columns would take {n_bytes / 1e9:.3g} GB as a "
            f"dense array, for {X.nnz} values that are not 0."
        )
    return X.toarray()
