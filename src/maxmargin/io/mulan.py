"""Mulan's xml list of labels: which attributes of an ARFF file are labels."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from maxmargin.io.files import Source, reading, shown, source_name

__all__ = ["label_list", "read_label_list"]

_NAMESPACE = "http://mulan.sourceforge.net/labels"
_DEEPEST = 1000  # the deepest nesting of labels: each open element takes memory


def read_label_list(source: Source) -> list[str]:
    """Names of the labels in an xml file of Mulan, in its order.

    A hierarchy of labels (elements within one another) is read flat: every element is a label.

    Parameters
    ----------
    source : path or file open for reading
        In UTF-8, or in the encoding that its first line names. A document type is refused.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import io
    >>> read_label_list(io.StringIO('<labels><label name="a"/><label name="b"/></labels>'))
    ['a', 'b']
    """
    name = source_name(source)
    names: dict[str, None] = {}
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        where = f"{name}, line {parser.CurrentLineNumber}"
        if depth > _DEEPEST:
            raise ValueError(f"{where}: more than {_DEEPEST} elements within one another.")
        if tag.rpartition(" ")[2] != "label":
            return
        label = attributes.get("name")
        if not label:
            raise ValueError(f"{where}: label {len(names) + 1} has no name.")
        if label in names:
            raise ValueError(f"{where}: the label {shown(label)} comes twice.")
        names[label] = None

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: Any) -> None:
        # A document type may define entities that expand without limit or read other files.
        raise ValueError(
            f"{name}, line {parser.CurrentLineNumber}: holds a document type (<!DOCTYPE>), which "
            "is not read; a list of labels needs none."
        )

    content = _content(name, source)
    parser = expat.ParserCreate("utf-8" if isinstance(content, str) else None, " ")
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(f"{name}: not well-formed xml: {error}.") from None
    except LookupError as error:  # Python looks for encodings that expat does not have
        raise ValueError(f"{name}, line {parser.CurrentLineNumber}: {error}.") from None
    except ValueError as error:
        if not str(error).startswith(name):
            error = ValueError(f"{name}, line {parser.CurrentLineNumber}: {error}.")
        raise error from None
    if not names:
        raise ValueError(f"{name}: holds no <label name=...>.")
    return list(names)


def _content(name: str, source: Source) -> str | bytes:
    """The whole file; bytes, so that it may say its encoding."""
    with reading(source) as file:
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}: not UTF-8 ({error.reason}).") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{name}: broken gzip file: {error}") from None


def label_list(names: Sequence[str]) -> bytes:
    """The xml file of Mulan that lists `names`.

    Examples
    --------
    >>> import io
    >>> read_label_list(io.BytesIO(label_list(["R&B", "jazz"])))
    ['R&B', 'jazz']
    """
    lines = [f"<label name={quoteattr(name)}></label>" for name in names]
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="{_NAMESPACE}">'
    text = "\n".join([head, *lines, "</labels>\n"]).encode("utf-8")
    try:
        expat.ParserCreate().Parse(text, True)
    except expat.ExpatError:
        raise ValueError("label_names hold a control character, which xml cannot.") from None
    return text
