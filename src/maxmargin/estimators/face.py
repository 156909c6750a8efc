"""The faces of estimators: parameters and arguments that many share are written once, here.

An estimator lists its own parameters in ``__init__`` and takes the rest as ``**common``; a method
takes what is said beside X and y as ``**beside``. `compose` then gives both their full signatures
and docstrings, so that `help`, `get_params`, and scikit-learn's `clone` and metadata routing see
every name. mypy sees the common parameters through `Common`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import Parameter, Signature, cleandoc, signature
from types import FunctionType
from typing import Annotated, Any, NamedTuple, TypedDict, get_args, get_type_hints

from maxmargin.training.partial import OnlineOnly, online_only


class Word(NamedTuple):
    """A parameter in words: its default, what it may be, and what it does."""

    default: Any
    kinds: str
    text: str


class Common(TypedDict, total=False):
    """The parameters that all estimators have."""

    C: Annotated[
        float,
        Word(
            1.0,
            "float > 0",
            "Weight of the training losses against |w|^2/2, as in scikit-learn's LinearSVC.",
        ),
    ]
    cost: Annotated[
        Any,
        Word(
            "hamming",
            "str or object",
            "Task loss: a name in `maxmargin.costs.COSTS` or such an object.",
        ),
    ]
    surrogate: Annotated[
        Any,
        Word(
            "margin",
            "str or object",
            """What is minimised in place of the cost: a name in
            `maxmargin.surrogates.SURROGATES`, or such an object.""",
        ),
    ]
    regularizer: Annotated[
        Any,
        Word(
            "euclidean",
            "str or object",
            """The norm |w| that is kept small: "euclidean", or
            `maxmargin.regularizers.Diagonal`, where features have weights of their own.""",
        ),
    ]
    search: Annotated[
        Any,
        Word(
            "auto",
            "str or object",
            """How the most violating output is found: a name in `maxmargin.search.SEARCHES`, or
            "auto" for the fastest that is exact here.""",
        ),
    ]
    solver: Annotated[
        Any,
        Word(
            "auto",
            "str or Solver",
            """"auto", a name in `maxmargin.solvers.SOLVERS`, or a solver with options of your
            choice. "auto" is "bcfw"; for classes "sdca"; for rankings ``OneSlack(inwards=True)``;
            "sgd" where the loss is not convex. ``result_.solver`` says which it was.""",
        ),
    ]
    tol: Annotated[
        float,
        Word(
            1e-2,
            "float >= 0",
            """Relative gap (primal - dual) / primal to stop at. Held-out scores rarely move below
            1e-2, which is the default. "sgd" and "perceptron" have no certificate, and do not look
            at it.""",
        ),
    ]
    max_iter: Annotated[
        int,
        Word(
            1000,
            "int",
            """Most passes over the examples; "sgd" and "perceptron" make so many, unless
            `patience` or `time_budget` ends them before (or, for the perceptron, a pass without a
            mistake).""",
        ),
    ]
    time_budget: Annotated[
        float | None,
        Word(
            None,
            "float or None",
            """Most seconds of one fit, looked at between the compiled calls that a pass is made
            of. Compiling comes on top, and so does a last look at the primal, which certifies what
            is returned.""",
        ),
    ]
    scoring: Annotated[
        Any,
        Word(
            None,
            "str, callable or None",
            """What `eval_set` is scored by, larger is better: a name that `maxmargin.metrics` or
            scikit-learn knows, such as "chunk_f1" or "f1_macro", or a callable (estimator, X, y)
            -> number, such as a scikit-learn scorer. None: F1 of segments ("chunk_f1") where
            labels are tags such as "B-NP", else what `score` measures.
            `result_.validation_measure` is its name.""",
        ),
    ]
    n_jobs: Annotated[
        int | None,
        Word(
            None,
            "int or None",
            """Threads for prediction, certificates and batch oracles (None: 1, -1: all). Never
            changes a result.""",
        ),
    ]
    random_state: Annotated[
        Any, Word(None, "int, Generator, RandomState or None", "The source of randomness.")
    ]
    warm_start: Annotated[
        bool,
        Word(
            False,
            "bool",
            """Let `fit` go on where the last one ended: with its dual on the same data, with its
            weights on other data. These an online solver starts from; the others, whose dual
            begins anew, take from them what they can ("bcfw" planes, "sdca" a first candidate to
            return).""",
        ),
    ]
    verbose: Annotated[
        int,
        Word(
            0,
            "int",
            """1 prints a line to stderr when there is news: the gap was computed, or no pass
            before scored as well on `eval_set`; 2 after every pass. Both say what is being
            compiled.""",
        ),
    ]


#: Name -> type, and name -> words, of the common parameters.
TYPES: dict[str, Any] = {}
WORDS: dict[str, Word] = {}
for _name, _hint in get_type_hints(Common, include_extras=True).items():
    TYPES[_name], WORDS[_name] = get_args(_hint)

#: What may be said beside X and y, by name: what it may be, and what it means.
BESIDE: dict[str, tuple[str, str]] = {
    "qid": (
        "array of shape (n_rows,) or None",
        "The query of each row of a matrix X, in any order. None: X is a list, or one query.",
    ),
    "fixed": (
        "list or None",
        """Labels that are known, one entry per sequence: None, or L labels, None or -1 where not.
        The rest is completed as best fits them; in training they must be those of y, and no
        labelling that changes them is looked at.""",
    ),
    "allowed": (
        "list or None",
        """Which labels may stand where, one entry per sequence: None (any), a boolean array of
        shape (L, n_labels) in the order of `classes_`, or a list of L entries, each None or a
        collection of labels.""",
    ),
}


def set_common(estimator: Any, given: Mapping[str, Any]) -> None:
    """Set the common parameters of an estimator, to what was given or to its defaults."""
    for name in given:
        if name not in WORDS:
            raise TypeError(f"{type(estimator).__name__} has no parameter {name!r}.")
    for name, word in WORDS.items():
        default = estimator.defaults.get(name, word.default)
        setattr(estimator, name, given.get(name, default))


def compose(cls: Any) -> None:
    """Give a class the signatures and docstrings of all that it takes."""
    own = vars(cls).get("__init__")
    if own is not None and "common" in own.__annotations__:
        own.__signature__ = _with_common(signature(own), cls.defaults)
        words = {name: (word.kinds, word.text) for name, word in WORDS.items()}
        cls.__doc__ = with_parameters(cls.__doc__, words)
    for name in dir(cls):
        if name.startswith("_"):
            continue
        held = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        function = held.method if isinstance(held, OnlineOnly) else held
        if isinstance(function, FunctionType) and "beside" in function.__annotations__:
            composed = _with_beside(function, cls.beside)
            setattr(cls, name, online_only(composed) if isinstance(held, OnlineOnly) else composed)


def _with_common(plain: Signature, defaults: Mapping[str, Any]) -> Signature:
    """Return the signature of ``__init__`` with the common parameters before its own by name."""
    common = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=defaults.get(name, word.default),
            annotation=TYPES[name],
        )
        for name, word in WORDS.items()
    ]
    given = list(plain.parameters.values())
    first = [each for each in given if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    own = [each for each in given if each.kind is Parameter.KEYWORD_ONLY]
    return plain.replace(parameters=[*first, *common, *own])


def _with_beside(function: Any, names: tuple[str, ...]) -> Any:
    """Return a method whose signature and docstring have these names in place of **beside."""
    plain = getattr(function, "plain", function)
    copy = FunctionType(
        plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__
    )
    copy.__kwdefaults__, copy.__annotations__ = plain.__kwdefaults__, plain.__annotations__
    copy.__module__, copy.__qualname__ = plain.__module__, plain.__qualname__
    given = [each for each in signature(plain).parameters.values() if each.name != "beside"]
    more = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Any) for name in names]
    copy.plain = plain  # type: ignore[attr-defined]
    copy.__signature__ = signature(plain).replace(parameters=given + more)  # type: ignore[attr-defined]
    copy.__doc__ = with_parameters(plain.__doc__, {name: BESIDE[name] for name in names})
    return copy


def with_parameters(doc: str | None, words: Mapping[str, tuple[str, str]]) -> str | None:
    r"""Return a numpydoc docstring that also describes these parameters, unless it does already.

    Examples
    --------
    >>> doc = "Fit.\n\nParameters\n----------\nX : rows\n\nReturns\n-------\nself"
    >>> longer = with_parameters(doc, {"X": ("rows", ""), "qid": ("array", "The queries.")})
    >>> longer.split("\n")[2:7]
    ['Parameters', '----------', 'X : rows', 'qid : array', '    The queries.']
    """
    if doc is None:  # python -OO
        return None
    lines = cleandoc(doc).split("\n")
    heads = [i for i, line in enumerate(lines) if i and re.fullmatch(r"-{3,}", line)]
    titles = [lines[i - 1] for i in heads]
    if "Parameters" not in titles:
        # Before the first section, or at the end.
        at = heads[0] - 1 if heads else len(lines)
        added = ["Parameters", "----------", ""]
        lines[at:at] = added if heads else ["", *added]
        return with_parameters("\n".join(lines), words) if words else doc
    place = titles.index("Parameters")
    start = heads[place] + 1
    end = heads[place + 1] - 1 if place + 1 < len(heads) else len(lines)
    section = [*lines[start:end]]
    while section and not section[-1]:
        section.pop()
    described = " ".join(line.partition(" : ")[0] for line in section if re.match(r"\w.* : ", line))
    known = set(re.findall(r"\w+", described))
    for name, (kinds, text) in words.items():
        if name not in known:
            section += [
                f"{name} : {kinds}",
                *(f"    {line}" for line in cleandoc(text).split("\n")),
            ]
    rest = lines[end:]
    return "\n".join([*lines[:start], *section, *([""] if rest else []), *rest])
