"""Mulan's xml list of labels: which attributes of an ARFF file are labels."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from maxmargin.io.files import Source, numbered_lines, source_name

__all__ = ["label_list", "read_label_list"]

_NAMESPACE = "http://mulan.sourceforge.net/labels"


def read_label_list(source: Source) -> list[str]:
    """Names of the labels in an xml file of Mulan, in its order.

    A hierarchy of labels (elements within one another) is read flat: every element is a label.

    Parameters
    ----------
    source : path or file open for reading

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
    text = "\n".join(line for _, line in numbered_lines(source))
    try:
        root = ElementTree.fromstring(text.encode("utf-8"))
    except ElementTree.ParseError as error:
        raise ValueError(f"{name}: not well-formed xml: {error}.") from None
    found = [e for e in root.iter() if e.tag.rpartition("}")[2] == "label"]
    if not found:
        raise ValueError(f"{name}: holds no <label name=...>.")
    names: dict[str, None] = {}
    for k, element in enumerate(found, start=1):
        label = element.get("name")
        if not label:
            raise ValueError(f"{name}: label {k} has no name.")
        if label in names:
            raise ValueError(f"{name}: the label {label!r} comes twice.")
        names[label] = None
    return list(names)


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
        ElementTree.fromstring(text)
    except ElementTree.ParseError:
        raise ValueError("label_names hold a control character, which xml cannot.") from None
    return text
