"""npz files: the archive, the headers of its arrays, offsets and strings."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from typing import Any

import numpy as np

from fuzz.kit import reading
from fuzz.mutate import mutate_bytes
from maxmargin.io import read_npz

TOKENS = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"X.npy", b"y.npy", b"offsets.npy", b"<f8",
          b"<U4", b"|O", b">i2", b"True", b"(2, 2)", b"(4,)", b"shape", b"descr", b"<U0", b"|S9",
          b"\xff\xff\xff\xff", b"(10**18, 0)", b"(100000000, 1)", b"qid.npy")  # fmt: skip


def seeds() -> list[bytes]:

    X = np.arange(8.0).reshape(4, 2)
    offsets = np.array([0, 1, 4], dtype=np.uint64)
    files: list[dict[str, Any]] = [
        {"X": X, "y": np.array([0, 1, 1, 0])},
        {"X": X.astype(">f4"), "y": np.array(["a", "bc", "d", ""]), "offsets": offsets},
        {"X": np.asfortranarray(X), "y": np.array([b"a", b"b", b"c", b"d"]), "other": X},
        {"X": X > 1},
        {"X": X, "y": np.array([0, 1, 1, 0]), "offsets": offsets, "qid": np.array([7, 3])},
    ]
    found = []
    for save in (np.savez, np.savez_compressed):
        for arrays in files:
            out = io.BytesIO()
            save(out, **arrays)
            found.append(out.getvalue())
    return found


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Change an array or its header, with a checksum that fits; one in four as bytes."""
    if rng.random() < 0.25:
        return mutate_bytes(data, rng, TOKENS)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [[info.filename, archive.read(info)] for info in archive.infolist()]
    except Exception:  # already broken: bytes are all there is
        return mutate_bytes(data, rng, TOKENS)
    if not members:
        return mutate_bytes(data, rng, TOKENS)
    chosen = rng.choice(members)
    chosen[1] = _change(chosen[1], rng)
    if rng.random() < 0.1:
        chosen[0] = rng.choice(("X.npy", "y.npy", "offsets.npy", "qid.npy", "X", "", "z.npy"))
    out = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(out, "w", method, compresslevel=1) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def _change(content: bytes, rng: random.Random) -> bytes:
    if len(content) < 10 or content[:6] != b"\x93NUMPY":
        return mutate_bytes(content, rng, TOKENS)
    length = struct.unpack("<H", content[8:10])[0]
    header, body = content[10 : 10 + length], content[10 + length :]
    if rng.random() < 0.5:
        header = mutate_bytes(header, rng, TOKENS)[:60000]
        return content[:8] + struct.pack("<H", len(header)) + header + body
    return content[: 10 + length] + mutate_bytes(body, rng, TOKENS)


def run(data: bytes) -> None:
    with reading(data, ".npz") as path:
        X, y = read_npz(path)
    rows = X if isinstance(X, list) else [X]
    labels = [] if y is None else y if isinstance(X, list) else [y]
    for i, x in enumerate(rows):
        assert x.ndim == 2 and x.dtype.kind in "biuf" and x.dtype.isnative
        np.asarray(x, dtype=np.float64).sum()
        if labels:
            assert len(labels[i]) == len(x)
            str(labels[i].tolist()).encode()
