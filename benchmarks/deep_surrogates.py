"""Surrogates over nets: a BiLSTM chunker and a BiLSTM graph parser, beside our linear models.

The recipe of 000, 5.3.4: margin rescaling first, then, from the same weights and at a smaller rate,
each surrogate for as many epochs (margin too: else training longer would look like a gain). The
same seed has the same first weights, batches and order for all of them. Five seeds; a difference to
margin is given with the paired t-test over seeds, and with its standard error over test sentences
(the mean over seeds of each sentence). Sizes are cut so that the table takes minutes: N_CHUNKS
sentences of conll2000, N_TREES of EWT, 80 units each way, few epochs; test parts are whole. The
rates are those of a study on other subsets; nothing was chosen on the test parts. Seconds are CPU
seconds of one thread. Needs torch: .venv-deep/bin/python benchmarks/run.py --only deep_surrogates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from harness import Line
from scipy.stats import ttest_rel

from maxmargin import ChainSVM, ParserSVM
from maxmargin.datasets import load_conll2000, load_treebank
from maxmargin.io import FeatureTemplate
from maxmargin.metrics import chunk_f1
from maxmargin.structures.parse.data import tree_fault
from maxmargin.surrogates import ProbLoss

SEEDS = range(5)
N_CHUNKS, N_TREES, BATCH, UNITS = 1000, 1200, 32, 80
FIRST, SECOND = 5, 3  # epochs of margin, and of each surrogate after it
RATE, SMALL_RATE = 2e-3, 5e-4
LONGEST = 40  # words of a training sentence of the parser
SURROGATES = {
    "margin": "margin",
    "slack": "slack",
    "ProbLoss": ProbLoss(convex=False),
    "convex ProbLoss": ProbLoss(convex=True),
}


def lines() -> Iterator[Line]:
    import torch

    torch.set_num_threads(1)
    yield from chunker()
    yield from parser()


class Numbers:
    """Columns of strings as numbers: 1 for what training has fewer than twice, 0 for padding."""

    def __init__(self, columns: Sequence[Sequence[Sequence[str]]]) -> None:
        self.places: list[dict[str, int]] = []
        for column in columns:
            words, counts = np.unique([w for s in column for w in s], return_counts=True)
            kept = words[counts >= 2]
            self.places.append({word: 2 + k for k, word in enumerate(kept.tolist())})

    @property
    def sizes(self) -> list[int]:
        return [2 + len(places) for places in self.places]

    def read(self, columns: Sequence[Sequence[Sequence[str]]]) -> list[np.ndarray]:
        """Return an array (length, n_columns) for each sentence."""
        return [
            np.array([
                [places.get(word, 1) for word in words]
                for places, words in zip(self.places, sentence, strict=True)
            ]).T
            for sentence in zip(*columns, strict=True)
        ]  # fmt: skip


def columns_of(words: list[list[str]], tags: list[list[str]]) -> list[list[list[str]]]:
    """Return words in lower case, their last three letters with their shape, and tags."""
    ends = [[f"{w[-3:].lower()}{w[0].isupper():d}{w[0].isdigit():d}" for w in s] for s in words]
    return [[[w.lower() for w in s] for s in words], ends, tags]


def net(sizes: list[int], head: Callable[[int], Any], seed: int) -> Any:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            dims = [64, 32, 32][: len(sizes)]
            self.tables = nn.ModuleList(
                nn.Embedding(n, d) for n, d in zip(sizes, dims, strict=True)
            )
            self.drop = nn.Dropout(0.3)
            self.lstm = nn.LSTM(sum(dims), UNITS, batch_first=True, bidirectional=True)
            self.head = head(2 * UNITS)

        def forward(self, X: Any) -> Any:
            given = torch.cat([t(X[..., k]) for k, t in enumerate(self.tables)], dim=-1)
            return self.head(self.drop(self.lstm(self.drop(given))[0]))

    torch.manual_seed(seed)
    return Net()


def tag_head(n_labels: int) -> Callable[[int], Any]:
    import torch
    from torch import nn

    class Tags(nn.Module):
        def __init__(self, n_inputs: int) -> None:
            super().__init__()
            self.out = nn.Linear(n_inputs, n_labels)
            self.transitions = nn.Parameter(torch.zeros(n_labels, n_labels))

        def forward(self, states: Any) -> Any:
            return self.out(states), self.transitions

    return Tags


def arc_head() -> Callable[[int], Any]:
    """Scores of arcs by a bilinear form in what two layers make of head and word."""
    import torch
    from torch import nn

    class Arcs(nn.Module):
        def __init__(self, n_inputs: int) -> None:
            super().__init__()
            self.head = nn.Sequential(nn.Linear(n_inputs, UNITS), nn.ReLU())
            self.word = nn.Sequential(nn.Linear(n_inputs, UNITS), nn.ReLU())
            self.form = nn.Parameter(torch.zeros(UNITS + 1, UNITS))
            nn.init.normal_(self.form, std=UNITS**-0.5)

        def forward(self, states: Any) -> Any:
            words = self.word(states)
            words = torch.cat([words, torch.ones_like(words[..., :1])], dim=-1)
            return torch.einsum("bmi,ij,bhj->bhm", words, self.form, self.head(states))

    return Arcs


def batch_of(X: list[np.ndarray], rows: Any, root: bool) -> tuple[Any, Any]:
    """Return sentences padded by 0, and their lengths; the root is one more word in front."""
    import torch

    lengths = np.array([len(X[i]) for i in rows])
    found = np.zeros((len(rows), lengths.max() + root, X[0].shape[1]), dtype=np.int64)
    for place, i in enumerate(rows):
        found[place, root : root + len(X[i])] = X[i]
    return torch.from_numpy(found), torch.from_numpy(lengths)


def truths_of(y: list[np.ndarray], rows: Any) -> Any:
    import torch

    found = np.zeros((len(rows), max(len(y[i]) for i in rows)), dtype=np.int64)
    for place, i in enumerate(rows):
        found[place, : len(y[i])] = y[i]
    return torch.from_numpy(found)


def train(
    model: Any, loss: Any, X: Any, y: Any, rate: float, n_epochs: int, seed: int, root: bool
) -> float:
    """Train; return CPU seconds of an epoch."""
    import torch

    optimizer = torch.optim.Adam(model.parameters(), rate)
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    lengths = np.array([len(x) for x in X])
    start = time.process_time()
    model.train()
    for _ in range(n_epochs):
        # Sentences of like lengths share a batch: sorted within pools of twenty batches.
        order = rng.permutation(len(X))
        for pool in np.array_split(order, max(len(X) // (20 * BATCH), 1)):
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            batches = np.array_split(pool, max(len(pool) // BATCH, 1))
            for k in rng.permutation(len(batches)):
                given, steps = batch_of(X, batches[k], root)
                optimizer.zero_grad()
                loss(model(given), truths_of(y, batches[k]), steps).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
    return (time.process_time() - start) / n_epochs


def predict(model: Any, loss: Any, X: list[np.ndarray], root: bool) -> list[np.ndarray]:
    import torch

    order = np.argsort([len(x) for x in X], kind="stable")
    found: list[Any] = [None] * len(X)
    model.eval()
    with torch.no_grad():
        for rows in np.array_split(order, len(X) // 64):
            given, steps = batch_of(X, rows, root)
            best = loss.decode(model(given), steps).numpy()
            for place, i in enumerate(rows):
                found[i] = best[place, : len(X[i])]
    return found


def compare(
    make: Callable[[int], Any],
    structure: Any,
    cost: str,
    train_data: tuple[Any, Any],
    test_inputs: Any,
    scored: Callable[[Any], tuple[float, np.ndarray]],
    root: bool,
) -> dict[str, Any]:
    """Return scores by surrogate: (seed,), of sentences (seed, n), and seconds of an epoch."""
    from maxmargin.deep import StructuredLoss

    losses = {
        name: StructuredLoss(structure, cost, surrogate, reduction="token")
        for name, surrogate in SURROGATES.items()
    }
    found: dict[str, Any] = {name: ([], [], []) for name in ["margin only", *SURROGATES]}
    for seed in SEEDS:
        first = make(seed)
        seconds = train(first, losses["margin"], *train_data, RATE, FIRST, seed, root)
        weights = {name: value.clone() for name, value in first.state_dict().items()}
        for name, loss in [("margin only", None), *losses.items()]:
            model = make(seed)
            model.load_state_dict(weights)
            if loss is not None:
                seconds = train(model, loss, *train_data, SMALL_RATE, SECOND, 100 + seed, root)
            score, each = scored(predict(model, losses["margin"], test_inputs, root))
            for kept, value in zip(found[name], (score, each, seconds), strict=True):
                kept.append(value)
    return {name: tuple(map(np.array, kept)) for name, kept in found.items()}


def report(what: str, found: dict[str, Any], linear: float, sizes: str) -> Iterator[Line]:
    base, base_each, _ = found["margin"]
    for name, (scores, each, seconds) in found.items():
        note = (
            f"{sizes} Mean of {len(scores)} seeds {np.round(scores, 4).tolist()}, standard error "
        )
        note += (
            f"{scores.std(ddof=1) / np.sqrt(len(scores)):.4f}; {seconds[1:].mean():.1f} CPU s an "
        )
        note += "epoch."
        if name == "margin only":
            note += f" {FIRST} epochs, from which all others go on for {SECOND}."
        elif name != "margin":
            difference = each.mean(axis=0) - base_each.mean(axis=0)
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            test = ttest_rel(scores, base)
            note += (
                f" Beside margin {100 * (scores - base).mean():+.2f} points, p = {test.pvalue:.2f} "
                f"by seeds; share of right words {100 * difference.mean():+.2f} +- "
                f"{100 * error:.2f} points by sentences."
            )
        label = name if name == "margin only" else f"margin, then {name}"
        facts = {"scores": scores.tolist(), "seconds an epoch": seconds.tolist()}
        yield Line(f"{what}: {label}", float(scores.mean()), linear, "", note=note, facts=facts)


def shares(truth: Any, found: Any) -> np.ndarray:
    """Return how much each sentence adds to the share of right words."""
    right = np.array(
        [np.sum(np.asarray(a) == np.asarray(b)) for a, b in zip(truth, found, strict=True)]
    )
    return right / np.mean([len(a) for a in truth])


def chunker() -> Iterator[Line]:
    from maxmargin.deep import Chains

    data = load_conll2000()
    rows = np.random.default_rng(0).permutation(len(data.X_train))[:N_CHUNKS]
    X, y = [data.X_train[i] for i in rows], [data.y_train[i] for i in rows]
    template = FeatureTemplate.parse("chunking", columns=data.extra["columns"])
    linear = ChainSVM(C=0.2, max_iter=15, random_state=0).fit(template.transform(X), y)
    guess = linear.predict(template.transform(data.X_test))
    peer = chunk_f1(data.y_test, guess)

    def columns(part: Any) -> list[list[list[str]]]:
        return columns_of([[w for w, _ in s] for s in part], [[t for _, t in s] for s in part])

    numbers, labels = Numbers(columns(X)), sorted({label for tags in y for label in tags})
    place = {label: k for k, label in enumerate(labels)}
    cells = [np.array([place[label] for label in tags]) for tags in y]

    def scored(found: Any) -> tuple[float, np.ndarray]:
        tags = [[labels[k] for k in own] for own in found]
        return chunk_f1(data.y_test, tags), shares(data.y_test, tags)

    found = compare(
        lambda seed: net(numbers.sizes, tag_head(len(labels)), seed), Chains(len(labels)),
        "hamming", (numbers.read(columns(X)), cells), numbers.read(columns(data.X_test)), scored,
        False,
    )  # fmt: skip
    sizes = f"{len(X)} training sentences, {len(data.X_test)} test. Peer: ChainSVM on the same."
    yield from report("BiLSTM chunker, conll2000, chunk F1", found, peer, sizes)


def parser() -> Iterator[Line]:
    from maxmargin.deep import Parses

    data = load_treebank("ewt")
    heads = [np.array([h for h, _ in tree], dtype=np.int32) for tree in data.y_train]
    fits = [
        i for i, own in enumerate(heads) if len(own) <= LONGEST and not tree_fault(own, True, True)
    ]
    rows = np.random.default_rng(0).permutation(fits)[:N_TREES]
    X, y = [data.X_train[i] for i in rows], [heads[i] for i in rows]
    truth = [[h for h, _ in tree] for tree in data.y_test]
    linear = ParserSVM(max_iter=10, relations="none", random_state=0).fit(
        X, [t.tolist() for t in y]
    )
    peer = linear.score(data.X_test, truth)

    def columns(part: Any) -> list[list[list[str]]]:
        return columns_of([[r[1] for r in s] for s in part], [[r[4] for r in s] for s in part])

    numbers = Numbers(columns(X))

    def scored(found: Any) -> tuple[float, np.ndarray]:
        share = shares(truth, found)
        return float(share.mean()), share

    found = compare(
        lambda seed: net(numbers.sizes, arc_head(), seed), Parses(), "uas",
        (numbers.read(columns(X)), y), numbers.read(columns(data.X_test)), scored, True,
    )  # fmt: skip
    sizes = (
        f"{len(X)} training sentences of at most {LONGEST} words, {len(truth)} test. "
        "Peer: ParserSVM, first order, on the same."
    )
    yield from report("BiLSTM parser, EWT, UAS", found, peer, sizes)
