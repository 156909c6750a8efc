"""CoNLL files: columns, separators, tags; read, made into features, written and read again."""

from __future__ import annotations

import io
import random
from typing import Any

from fuzz import texts
from fuzz.kit import reading

TOKENS = (b"-DOCSTART-", b"-DOCSTART- -X- O\n", b"B-NP", b"I-NP", b"O", b"\n\n", b"a b c\n",
          b" \t ", b"\xc2\xa0", b"\x0c")  # fmt: skip
MODES: tuple[dict[str, Any], ...] = (
    {},
    {"tag_column": 0},
    {"tag_column": None},
    {"separator": "\t"},
    {"separator": ", ", "columns": ["w"]},
    {"columns": {"w": 0}},
)


def seeds() -> list[bytes]:
    return texts.variants(
        "-DOCSTART- -X- O\n\nthe DT B-NP\ncat NN I-NP\n\nwhy WRB O\n",
        "the\tDT\tB-NP\n\tNN\tO\n\n",
        "the, O\ncat, B\n",
        "caf\u00e9 NN\n\u4e2d\u6587 NN\n",
    )


def mutate(data: bytes, rng: random.Random) -> bytes:
    return texts.mutate(data, rng, TOKENS)


def run(data: bytes) -> None:
    from maxmargin.io import FeatureTemplate, conll_width, read_conll, write_conll

    options = MODES[len(data) % len(MODES)]
    separator = options.get("separator")
    with reading(data, ".conll") as path:
        found = read_conll(path, **options)
        width = conll_width(path, separator=separator)
    assert found.sentences and all(found.sentences)
    assert width == len(found.columns) + (found.tags is not None) or "columns" in options
    template = FeatureTemplate.parse([f"{found.columns[0]}[0]", "bias"], found.columns)
    features = template.transform(found.sentences[:5])
    assert all(len(row) == 2 for sentence in features for row in sentence)
    if "columns" in options or separator == ", ":
        return
    out = io.StringIO()
    try:
        write_conll(out, found.sentences, found.tags, separator=separator or " ",
                    tag_column=found.tag_column, document_starts=found.document_starts)  # fmt: skip
    except ValueError:  # a field that would be read back as something else
        return
    out.seek(0)
    again = read_conll(out, **options)
    assert (again.sentences, again.tags) == (found.sentences, found.tags)
