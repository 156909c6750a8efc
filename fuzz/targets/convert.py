"""`maxmargin convert`: exit code 0 and a file that can be read, or 2, one line, and no file."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from importlib import import_module

from fuzz.kit import reading
from fuzz.targets import conll, npz, svmlight
from maxmargin.io import read_conll, read_npz, read_svmlight

#: The first byte of an input says which conversion it is.
KINDS = {
    b"c": (conll, ".conll", ".tsv"),
    b"s": (svmlight, ".svm", ".npz"),
    b"n": (npz, ".npz", ".svm"),
}

#: How what was written is read again.
READERS = {".tsv": partial(read_conll, separator="\t"), ".npz": read_npz, ".svm": read_svmlight}


def seeds() -> list[bytes]:
    return [kind + data for kind, (target, _, _) in KINDS.items() for data in target.seeds()]


def mutate(data: bytes, rng: random.Random) -> bytes:
    target = KINDS.get(data[:1], KINDS[b"c"])[0]
    return data[:1] + target.mutate(data[1:], rng)


@cache
def _command() -> Callable[[list[str]], int]:
    """Return the command line, whose options are gone through once, not with every input."""
    from typer.main import get_command

    main = import_module("maxmargin.cli.main")  # the package has a function of that name
    app = get_command(main.new_app())
    main.new_app = lambda: app
    return main.run


def run(data: bytes) -> None:
    _, source, target = KINDS.get(data[:1], KINDS[b"c"])
    out, err = io.StringIO(), io.StringIO()
    with reading(data[1:], source) as path:
        output = path.removesuffix(source) + "-out" + target
        try:
            options = ["--to", "bioes"] if data[:1] == b"c" and len(data) % 2 else []
            with redirect_stdout(out), redirect_stderr(err):
                code = _command()(["convert", path, output, "--json", *options])
            folder, name = os.path.split(output)
            left = [other for other in os.listdir(folder) if name in other]
            if code == 0:
                assert left == [name] and out.getvalue()
                READERS[target](output)
                return
            said = err.getvalue()
            assert code == 2 and not left and not out.getvalue(), (code, left, said)
            lines = said.splitlines()  # warnings may come first
            assert lines[-1].startswith("Error: ") and len(said) < 2100 * len(lines), said
            assert all(line.startswith("Warning: ") for line in lines[:-1]), said
            raise ValueError(said)
        finally:
            if os.path.exists(output):
                os.unlink(output)
