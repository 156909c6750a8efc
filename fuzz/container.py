"""Our container taken apart and put together: the JSON of its header, its meta, its arrays.

Changes are made to values and arrays first, so that most inputs get past the container's own
checks; one in eight is changed as bytes. Written without the package's reader, which is what is
tested.
"""

from __future__ import annotations

import json
import random
import struct
from typing import Any

from fuzz.mutate import mutate_bytes, mutate_json

KEY, META = "maxmargin", "maxmargin.meta"
_WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4,
           "U16": 2, "U8": 1, "BOOL": 1}  # fmt: skip
_FORMATS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U8": "B", "BOOL": "B"}


def split(data: bytes) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the head (our JSON in the header) and the tensors by name."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    head = json.loads(header.pop("__metadata__")[KEY])
    body = data[8 + length :]
    for entry in header.values():
        start, end = entry.pop("data_offsets")
        entry["data"] = body[start:end]
    return head, header


def join(head: Any, tensors: dict[str, dict[str, Any]]) -> bytes:
    """Return the file of a head and tensors."""
    header: dict[str, Any] = {"__metadata__": {KEY: json.dumps(head)}}
    body = b""
    for name, entry in tensors.items():
        offsets = [len(body), len(body) + len(entry["data"])]
        header[name] = {"dtype": entry["dtype"], "shape": entry["shape"], "data_offsets": offsets}
        body += entry["data"]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def mutate(data: bytes, rng: random.Random, words: tuple[str, ...] = ()) -> bytes:
    """Return a file with a few values, arrays or bytes changed."""
    try:
        head, tensors = split(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return mutate_bytes(data, rng)
    if rng.random() < 0.125:
        return mutate_bytes(data, rng)
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            if tensors and rng.random() < 0.4:
                _change_tensor(tensors, rng)
            else:
                head = mutate_json(head, rng, words)
        return join(head, tensors)
    except (RecursionError, ValueError, TypeError, KeyError):  # nested too deep to be written
        return mutate_bytes(data, rng)


def _change_tensor(tensors: dict[str, dict[str, Any]], rng: random.Random) -> None:
    name = rng.choice(list(tensors))
    entry = dict(tensors[name])
    change = rng.randrange(8)
    if change == 0:
        del tensors[name]
        return
    if change == 1:
        del tensors[name]
        name = rng.choice((name + "x", name[:-1], "w", "state.w", META, ""))
    elif change == 2:
        entry = dict(tensors[rng.choice(list(tensors))])
    elif change == 3:  # another type of the same length
        width = _WIDTHS.get(entry["dtype"], 1)
        entry["dtype"] = rng.choice([key for key, size in _WIDTHS.items() if size == width])
    elif change == 4:  # another length
        _resize(entry, rng)
    elif change == 5 and entry["shape"]:
        shape = entry["shape"]
        entry["shape"] = rng.choice(([1, *shape], [*shape, 1], shape[::-1], [*shape[:-1], 1]))
    else:
        _change_cells(entry, rng)
    tensors[name] = entry


def _resize(entry: dict[str, Any], rng: random.Random) -> None:
    shape = list(entry["shape"]) or [1]
    row = len(entry["data"]) // max(shape[0], 1)
    shape[0] = rng.choice((0, max(shape[0] - 1, 0), shape[0] + 1, shape[0] * 2, 1))
    entry["data"] = (entry["data"] * 3)[: row * shape[0]].ljust(row * shape[0], b"\x01")
    entry["shape"] = shape


def _change_cells(entry: dict[str, Any], rng: random.Random) -> None:
    """Change some numbers of an array: other indices, signs, NaN, infinity, huge ones."""
    letter = _FORMATS.get(entry["dtype"])
    if letter is None or not entry["data"]:
        return
    cell = struct.Struct(f"<{letter}")
    data = bytearray(entry["data"])
    count = len(data) // cell.size
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(count) * cell.size
        old = cell.unpack_from(data, at)[0]
        if letter in "df":
            new = rng.choice((float("nan"), float("inf"), -1.0, 1e300 if letter == "d" else 1e30,
                              0.0, old * 1.5, -old, 1e-310, 0.25))  # fmt: skip
        else:
            new = rng.choice((old + 1, old - 1, -1, 0, 1, 2, 3, 10**9, -(10**9), 2**31, 2**62, 255))
            bits = 8 * cell.size
            new &= (1 << bits) - 1
            if letter in "qi" and new >> (bits - 1):
                new -= 1 << bits
        cell.pack_into(data, at, new)
    entry["data"] = bytes(data)
