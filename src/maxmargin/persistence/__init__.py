"""Model files and checkpoints: one safetensors file that holds arrays and JSON, never pickle.

Layout of a file, format 1. Arrays are safetensors tensors. The header's ``__metadata__`` has one
key, ``"maxmargin"``, whose value is JSON text::

    {"format": 1, "kind": "model", "meta": {...}, "csr": {"name": [rows, columns, "csr_array"]}}

JSON knows few types, so values that it would change (tuples, numpy scalars, keys that are not
text, NaN) are written as ``{"$type": ..., "value": ...}``; see `encode_value`. When the JSON of
``meta`` is long (a vocabulary of 400000 features, say) it moves to a uint8 tensor called
``maxmargin.meta``, because readers of the format parse the whole header before anything else and
refuse one above 100 MB. Neither is a caller's business: what `write` was given, `read` returns.

Reading creates numbers, text, containers and arrays, and runs no code that came with the file.
"""

from __future__ import annotations

from maxmargin.persistence.files import FORMAT_VERSION, Document, damaged, read, write
from maxmargin.persistence.registry import (
    ESTIMATORS,
    Storable,
    estimator_class,
    read_estimator,
    register,
    save_estimator,
)
from maxmargin.persistence.rng import restore_rng, rng_state
from maxmargin.persistence.values import decode_value, encode_value

__all__ = [
    "ESTIMATORS",
    "FORMAT_VERSION",
    "Document",
    "Storable",
    "damaged",
    "decode_value",
    "encode_value",
    "estimator_class",
    "read",
    "read_estimator",
    "register",
    "restore_rng",
    "rng_state",
    "save_estimator",
    "write",
]
