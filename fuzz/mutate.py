"""Changes of inputs: bytes, lines and tokens of text, and the values of a JSON document."""

from __future__ import annotations

import copy
import math
import random
import re
from typing import Any

#: Numbers at which readers break: limits of types, signs, what is not a number.
NUMBERS = (
    b"0", b"-0", b"1", b"-1", b"2", b"0.5", b"1.7", b"1e308", b"1e309", b"-1e400", b"5e-324",
    b"nan", b"inf", b"-inf", b"127", b"128", b"255", b"256", b"32767", b"65535", b"65536",
    b"2147483647", b"2147483648", b"-2147483649", b"4294967295", b"4294967296",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"18446744073709551615", b"18446744073709551616", b"1" * 400, b"1_000", b"0x10", b"1e5",
)  # fmt: skip
#: Characters that end, begin or quote something, or are no text at all.
PIECES = (
    b"\n", b"\r\n", b"\r", b"\t", b" ", b":", b",", b";", b"#", b"%", b"{", b"}", b"[", b"]",
    b'"', b"'", b"\\", b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3\x28", b"\xed\xa0\x80",
    "\u2028".encode(), "\u0660".encode(), b"-", b"+", b".", b"/", b"?",
)  # fmt: skip

_TOKEN = re.compile(rb"[^\s:,;]+")


def mutate_bytes(data: bytes, rng: random.Random, tokens: tuple[bytes, ...] = ()) -> bytes:
    """Return `data` with one to six random changes; `tokens` are words of the format."""
    for _ in range(1 + min(int(rng.expovariate(0.7)), 5)):
        data = rng.choice(_CHANGES)(data, rng, tokens)
    return data


def _place(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + 1 + int(rng.expovariate(0.15)))


def _flip(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + data[end:]


def _repeat(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    start, end = _place(data, rng)
    times = rng.choice((1, 2, 3, 16, 64))
    return data[:end] + data[start:end] * times + data[end:]


def _truncate(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _insert(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(rng.choice((PIECES, NUMBERS, tokens or PIECES))) + data[at:]


def _token(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    """Put a number or a word of the format in the place of a word."""
    words = list(_TOKEN.finditer(data))
    if not words:
        return data
    word = rng.choice(words)
    new = rng.choice(rng.choice((NUMBERS, tokens or NUMBERS)))
    return data[: word.start()] + new + data[word.end() :]


def _lines(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    """Leave out, double or exchange lines."""
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(3)
    if change == 0:
        del lines[i]
    elif change == 1:
        lines.insert(j, lines[i])
    else:
        lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _long(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    """Make one piece very long."""
    at = rng.randint(0, len(data))
    piece = rng.choice((*PIECES, *NUMBERS[:4], *tokens))
    return data[:at] + piece * rng.choice((100, 1000, 5000)) + data[at:]


_CHANGES = (_flip, _flip, _cut, _cut, _repeat, _truncate, _insert, _insert, _token, _token, _token,
            _lines, _lines, _long)  # fmt: skip


# --- JSON

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 10**9, -(10**9), 2**31, 2**63, 2**64, 10**400, 0.5, -0.5,
    1e308, 5e-324, "", "a", "nan", "\u0000", "x" * 300, [], {}, [None], [[]], [0, 1], {"a": 1},
    {"$type": "float", "value": "nan"}, {"$type": "float", "value": "-inf"},
    {"$type": "tuple", "value": [1, 2]}, {"$type": "set", "value": [1]},
    {"$type": "dict", "value": [[1, 2]]}, {"$type": "dict", "value": [[[], 2]]},
    {"$type": "int64", "value": 3}, {"$type": "float32", "value": 1e300},
    {"$type": "str_", "value": "b"}, {"$type": "bytes", "value": "00ff"},
    {"$type": "ndarray", "value": [1.0, 2.0], "dtype": "<f8", "shape": [2]},
    {"$type": "ndarray", "value": ["a", "b"], "dtype": "<U500000000", "shape": [2]},
    {"$type": "ndarray", "value": ["a", "b"], "dtype": "<U1", "shape": [2, 1]},
    {"$type": "ndarray", "value": ["a", 1], "dtype": "|O", "shape": [2]},
    {"$type": "ndarray", "value": [], "dtype": "<f8", "shape": [0, 10**12]},
    {"$type": "unheard", "value": 1},
)  # fmt: skip


def mutate_json(document: Any, rng: random.Random, words: tuple[str, ...] = ()) -> Any:
    """Return a copy with one value changed, left out, doubled or exchanged with another."""
    document = copy.deepcopy(document)
    places = list(_places(document))
    if not places:
        return document
    parent, key = rng.choice(places)
    change = rng.randrange(10)
    if change == 0:
        del parent[key]
    elif change == 1 and isinstance(parent, dict):
        parent[rng.choice(("a", "", "name", "value", *map(str, parent)))] = parent.pop(key)
    elif change == 1:
        parent.insert(rng.randint(0, len(parent)), copy.deepcopy(parent[key]))
    elif change == 2:
        other, place = rng.choice(places)
        parent[key] = copy.deepcopy(other[place])
    elif change <= 5:
        parent[key] = _near(parent[key], rng)
    elif change == 6 and words:
        parent[key] = rng.choice(words)
    elif change == 7:
        deep: Any = parent[key]
        for _ in range(rng.choice((1, 2, 50, 2000))):
            deep = [deep]
        parent[key] = deep
    else:
        parent[key] = copy.deepcopy(rng.choice(_VALUES))
    return document


def _places(value: Any) -> Any:
    """Yield (container, key) of every value, however deep; no recursion, files may nest."""
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = container if isinstance(container, dict) else range(len(container))
        for key in list(keys):
            yield container, key
            if isinstance(container[key], (dict, list)):
                waiting.append(container[key])


def _near(value: Any, rng: random.Random) -> Any:
    """Return a value of the same type, a little or much off."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, -value, value * 2, value + 10**6, 2**31, 2**63))
    if isinstance(value, float):
        near = math.nextafter(value, math.inf)
        return rng.choice((near, -value, value * 1.001, value * 1e300, int(min(value, 1e9)), 0.0))
    if isinstance(value, str):
        return rng.choice((value[:-1], value + "x", value.upper(), value * 2, "a", "b"))
    return copy.deepcopy(rng.choice(_VALUES))
