"""What the targets of text formats share: seeds with other line ends and packings, one mutator."""

from __future__ import annotations

import gzip
import random

from fuzz.mutate import mutate_bytes


def variants(*texts: str) -> list[bytes]:
    """Return texts as bytes; the first also with a byte order mark, with CRLF, and gzipped."""
    first = texts[0].encode()
    other = [b"\xef\xbb\xbf" + first, first.replace(b"\n", b"\r\n"), pack(first)]
    return [text.encode() for text in texts] + other


def pack(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def mutate(data: bytes, rng: random.Random, tokens: tuple[bytes, ...]) -> bytes:
    """Change the text rather than its packing, but now and then that as well."""
    if data[:2] == b"\x1f\x8b" and rng.random() < 0.8:
        try:
            return pack(mutate_bytes(gzip.decompress(data), rng, tokens))
        except (OSError, EOFError, ValueError):
            pass
        except Exception as error:  # zlib.error has no public base
            if type(error).__name__ != "error":
                raise
    return mutate_bytes(data, rng, tokens)
