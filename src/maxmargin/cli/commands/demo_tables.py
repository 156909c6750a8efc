"""What the demo prints: scores, the certificate, and strings that were read right and wrong."""

from __future__ import annotations

from typing import Any

from maxmargin.cli import console
from maxmargin.cli.console import percent

_N_RIGHT, _N_WRONG = 4, 4  # strings shown
_LONGEST = 9  # digits of a string that is drawn: they fit 80 columns
_SHADES = " ░▒▓█"


def demo_tables(
    data: Any, models: dict[str, Any], guesses: dict[str, Any], scores: dict[str, Any]
) -> list[Any]:
    """Return all that is printed."""
    chain = models["chain"].result_
    seconds = {name: model.result_.seconds for name, model in models.items()}
    heads = ["test strings", "characters right", "strings right", "rel. gap", "seconds"]
    rows = [
        [
            label,
            percent(scores[name]["character_accuracy"]),
            percent(scores[name]["string_accuracy"]),
            f"{models[name].result_.relative_gap:.2g}",
            f"{seconds[name]:.2f}",
        ]
        for name, label in (("chain", "read as a whole"), ("per_character", "each digit alone"))
    ]
    bound = (
        f"Certified in {chain.n_iter} passes: {chain.dual:.6g} <= optimum <= {chain.primal:.6g}, "
        f"relative gap {chain.relative_gap:.2g}."
    )
    return [
        console.grid("Digit strings", heads, rows),
        bound,
        *_one_drawn(data, guesses),
        _strings(data, guesses),
    ]


def _is_right(truth: Any, guess: Any) -> bool:
    return bool((truth == guess).all())


def _one_drawn(data: Any, guesses: dict[str, Any]) -> list[Any]:
    """Return the picture of a string that only the chain read right."""
    for x, truth, chain, alone in zip(
        data.X_test, data.y_test, guesses["chain"], guesses["per_character"], strict=True
    ):
        if 6 <= len(truth) <= _LONGEST and _is_right(truth, chain) and not _is_right(truth, alone):
            width = 8 + 1
            caption = [
                "".join(f"{digit!s:^{width}}" for digit in labels) for labels in (chain, alone)
            ]
            return [
                "",
                *draw_string(x),
                f"{caption[0]} as a whole",
                f"{caption[1]} each alone",
                "",
            ]
    return []


def draw_string(images: Any) -> list[str]:
    """Return four lines of text that show 8 x 8 images side by side; a character is two pixels.

    Examples
    --------
    >>> import numpy as np
    >>> draw_string(np.eye(8).reshape(1, 64))
    ['▒▒       ', '  ▒▒     ', '    ▒▒   ', '      ▒▒ ']
    """
    pixels = images.reshape(len(images), 4, 2, 8).mean(axis=2).clip(0.0, 1.0)
    shades = (pixels * (len(_SHADES) - 1)).round().astype(int)
    return [
        "".join("".join(_SHADES[shade] for shade in image[line]) + " " for image in shades)
        for line in range(4)
    ]


def _strings(data: Any, guesses: dict[str, Any]) -> Any:
    """Return some strings that the chain read right and some that it did not."""
    triples = list(zip(data.y_test, guesses["chain"], guesses["per_character"], strict=True))
    right = [t for t in triples if _is_right(t[0], t[1]) and not _is_right(t[0], t[2])]
    wrong = [t for t in triples if not _is_right(t[0], t[1])]
    shown = [*right[:_N_RIGHT], *wrong[:_N_WRONG]]
    rows = [
        ["".join(map(str, truth)), marked(truth, chain), marked(truth, alone)]
        for truth, chain, alone in shown
    ]
    heads = ["true", "read as a whole", "each digit alone"]
    return console.grid("Some test strings; mistakes in brackets", heads, rows, n_text=3)


def marked(truth: Any, guess: Any) -> Any:
    """Return a predicted string with its mistakes in brackets, and red where there are colours.

    Examples
    --------
    >>> str(marked([1, 2, 3], [1, 7, 3]))
    '1[7]3'
    """
    from rich.text import Text

    text = Text()
    for right, label in zip(truth, guess, strict=True):
        if right == label:
            text.append(str(label))
        else:
            text.append(f"[{label}]", style="bold red")
    return text
