"""The entry point: commands by name, and what becomes of errors."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.commands.convert import convert
from maxmargin.cli.commands.demo import demo
from maxmargin.cli.commands.evaluate import evaluate
from maxmargin.cli.commands.infer import infer
from maxmargin.cli.commands.info import info
from maxmargin.cli.commands.inspect_model import inspect_model
from maxmargin.cli.commands.predict import predict
from maxmargin.cli.commands.race import race
from maxmargin.cli.commands.train import train
from maxmargin.cli.commands.warmup import warmup
from maxmargin.cli.kinds import own_options, told
from maxmargin.cli.options import with_own_options

BAD_INPUT, INTERRUPTED = 2, 130

_HELP = """Learn sequences, classes, label sets and rankings from files, to a certified optimum.

Begin with `maxmargin demo`. Then, with a file of your own, whose last column are the tags:

    maxmargin train chain train.conll --model tagger.mm --dev dev.conll

    maxmargin predict tagger.mm new.conll

Each command has its own --help; `maxmargin info` lists solvers, costs and file formats.
"""

_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "inspect": inspect_model,
    "infer": infer,
    "convert": convert,
    "race": race,
    "warmup": warmup,
    "info": info,
}


#: Commands that take the options of another one.
_LIKE = {"race": "train"}


def _print_version(wanted: bool) -> None:
    if wanted:
        from maxmargin import __version__

        console.result(f"maxmargin {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error was raised.")
    ] = False,
) -> None:
    console.SETTINGS.traceback = traceback


def new_app() -> typer.Typer:
    """Return the commands, with the options and the help of all kinds that there are now."""
    app = typer.Typer(
        name="maxmargin",
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name, command in _COMMANDS.items():
        text = "\n\n".join(filter(None, [inspect.getdoc(command), " ".join(told(name))]))
        app.command(name, help=text)(with_own_options(command, own_options(_LIKE.get(name, name))))
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Parameters
    ----------
    arguments : sequence of str or None
        None: those of the process.

    Examples
    --------
    >>> main(["--version"])
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    with console.guarded_streams():
        code = run(arguments)
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Examples
    --------
    >>> run(["--version"])
    maxmargin ...
    0
    """
    console.SETTINGS.traceback = False
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = new_app()(arguments, standalone_mode=False, prog_name="maxmargin")
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except BrokenPipeError:  # the reader of our output has gone, as `head` does
            console.drop(sys.stdout)
            return 1
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except (ValueError, TypeError, OSError, MemoryError) as error:
            return _refuse(error)
        except Exception as error:
            # What the parser of the command line raises is of no public class.
            if not hasattr(error, "format_message"):
                raise
            return _refuse_usage(error)


def _refuse(error: Exception) -> int:
    if console.SETTINGS.traceback:
        raise error
    console.error(console.in_options(console.sentence(error)))
    try:
        sys.stdout.flush()
    except OSError:  # a full disk, say: it would be tried again at exit
        console.drop(sys.stdout)
    return BAD_INPUT


def _refuse_usage(error: Any) -> int:
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        console.note(message)
    else:
        console.error(message)
    return BAD_INPUT


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    console.warning(console.in_options(str(message)))
