"""Rankings: the documents of queries, with grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import console
from maxmargin.cli.formats import Batch, NpzReader, Reader, SvmlightReader
from maxmargin.cli.kinds.base import NOTHING, Kind, noise
from maxmargin.cli.kinds.multiclass import MISSING
from maxmargin.cli.options import OwnOptions

if TYPE_CHECKING:
    from maxmargin.cli.models import Model

CUTS = (1, 3, 5, 10)  # the k of NDCG@k and precision@k
MOST_QUERIES = 20  # queries that are shown one by one
_PANEL = "Rankings"
_WIDE = 1e3  # times the median of the features' largest values, from which one rules all others

_NAMES = {"average_precision": "average precision", "auc": "AUC", "ndcg": "NDCG"}


# -- options -------------------------------------------------------------------------------------


def cuts(text: str | None) -> tuple[int, ...] | None:
    """Return the k of an option.

    Examples
    --------
    >>> cuts("10,1,5")
    (1, 5, 10)
    """
    if text is None:
        return None
    try:
        found = {int(piece) for piece in text.split(",")}
    except ValueError:
        found = {0}
    if min(found) < 1:
        raise ValueError(
            f"--k must be whole numbers of at least 1, parted by commas, got {text!r}."
        )
    return tuple(sorted(found))


def _not_negative(n: int | None) -> int | None:
    if n is not None and n < 0:
        raise ValueError(f"--queries must be at least 0, got {n}.")
    return n


def _option(type_: Any, help: str, *names: str, **more: Any) -> Any:
    return Annotated[type_, typer.Option(*names, help=help, rich_help_panel=_PANEL, **more)]


_RELEVANT = _option(
    float | None,
    "The grade from which a document is relevant, for all but NDCG; else 1, or the model's own.",
)
_TRAIN = OwnOptions(
    {
        "k": _option(
            int | None,
            "Places that count, for the costs ndcg_at_k and precision_at_k; else 10.",
            "--k",
        ),
        "gain": _option(
            str | None,
            "What a grade g is worth to NDCG: exponential (2^g - 1) or linear (g).",
        ),
        "relevant": _RELEVANT,
        "normalize": _option(
            str | None,
            "Make features comparable: maxabs over all documents, standard or minmax query by "
            "query, none as they are; else maxabs.",
        ),
        "zeros": _option(
            str | None,
            "What a zero is: a value, or by indicator also a column that says where a feature is "
            "not zero; else indicator.",
        ),
        "steps": _option(
            int | None,
            "Columns that say where a feature is beyond a quantile of its values, at most so many "
            "per feature; else 5.",
        ),
    },
    "is for rankings (`train ranking`), which `train {kind}` does not learn",
)
_EVALUATE = OwnOptions(
    {
        "k": _option(
            str | None,
            "For NDCG@k and precision@k: numbers parted by commas; else 1,3,5,10.",
            "--k",
            callback=cuts,
        ),
        "relevant": _RELEVANT,
        "queries": _option(
            int | None,
            f"Queries to show one by one; else {MOST_QUERIES}.",
            callback=_not_negative,
        ),
    },
    "is for rankings, but {model} does not rank",
)


class Ranking(Kind):
    """Documents with grades; rows that share a qid are those of one query."""

    name = "ranking"
    estimator = "RankingSVM"
    about = "the documents of queries"
    options = {"train": (_TRAIN, MISSING), "evaluate": (_EVALUATE,)}
    parameters = {
        "missing": "missing",
        "zeros": "zeros",
        "steps": "steps",
        "relevant": "relevance_threshold",
        "normalize": "normalize_queries",
    }
    readers = {"svmlight": SvmlightReader(queries=True), "npz": NpzReader(queries=True)}
    blocks = ()
    told = {
        "C": "0.1 for rankings",
        "file": "for rankings also .txt",
        "predict": "Rankings: one score per line, in the order of the file; higher stands first.",
        "evaluate": "Rankings: average precision, AUC, NDCG, NDCG@k and precision@k, on average "
        "and query by query.",
    }

    def settings(self, params: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the estimator; k and gain are those of its cost."""
        found = super().settings(params, own)
        cost = ranking_cost(found.get("cost"), own.get("k"), own.get("gain"))
        if cost is not None:
            found["cost"] = cost
        if own.get("normalize") == "none":
            found[self.parameters["normalize"]] = None
        return found

    def check_estimator(self, estimator: Any) -> None:
        """Check the parameters that only rankings have."""
        from maxmargin.inputs.checks import check_number
        from maxmargin.inputs.queries import check_normalization

        estimator._cost()
        check_number(self.parameters["relevant"], _relevant(estimator))
        check_normalization(_normalize(estimator))

    def format_of(self, path: Path) -> str:
        """Return the format that a file's name announces; rankings call theirs .txt, as LETOR does.

        Examples
        --------
        >>> Ranking().format_of(Path("train.txt.gz"))
        'svmlight'
        """
        name = super().format_of(path)
        is_txt = name == "conll" and ".txt" in path.name.lower()[-7:]
        return "svmlight" if is_txt else name

    def unreadable(self, path: Path, reader: type[Reader], model: Path | None) -> str:
        """Say which formats hold queries."""
        return (
            f"{path} is of format {reader.format}, which holds no queries: rankings come as "
            "svmlight with qid, or npz."
        )

    def adapt(self, batch: Batch, estimator: Any) -> Batch:
        """Return the rows of a file dense where they are normalised by query, which fills them.

        A script is asked to do so itself; here the file, not the user, made them sparse.
        """
        if _normalize(estimator) not in ("standard", "minmax") or not hasattr(batch.X, "toarray"):
            return batch
        from maxmargin.io.unpack import to_dense

        return replace(batch, X=to_dense(batch.X, str(batch.path)))

    def advise(self, batch: Batch, kind: str) -> str | None:
        """Say so if another kind ignores the queries of a file."""
        if not batch.ignores_qid:
            return None
        return (
            f"{batch.path} has qid, which `train {kind}` ignores: all rows are samples of their "
            f"own. `train {self.name}` learns to rank the documents of queries."
        )

    def content(self, reader: Reader | None, batch: Batch) -> str:
        """Say how many documents and queries there are."""
        return f"{batch.n_samples} documents of {_n_queries(batch)} queries"

    def warn_of(self, batch: Batch, estimator: Any) -> str | None:
        """Say so if features have such different scales that one rules all others."""
        return scale_note(batch) if _normalize(estimator) is None else None

    def sizes(self, estimator: Any, batch: Batch) -> dict[str, int]:
        """Return the numbers of queries and documents."""
        return {
            "n_queries": _n_queries(batch),
            "n_skipped_queries": int(estimator.n_skipped_),
            "n_documents": batch.n_samples,
            "n_features": int(estimator.n_features_in_),
        }

    def measure(
        self, model: Model, batch: Batch, guess: Any, own: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return how well scores rank the documents of each query.

        The cost of the model says which gains NDCG has, and a k besides `CUTS`.
        """
        import numpy as np

        from maxmargin.metrics import ranking_report

        scores, estimator = guess, model.estimator
        cost = estimator._cost()
        k = own.get("k") or tuple(sorted({*CUTS, getattr(cost, "k", CUTS[0])}))
        relevant = own.get("relevant")
        relevant = _relevant(estimator) if relevant is None else relevant
        gains: Any = getattr(cost, "gain", "exponential")
        grades = np.asarray(batch.y)
        qid = np.zeros(len(grades), dtype=np.int64) if batch.qid is None else batch.qid
        report = ranking_report(grades, scores, qid, k, relevant=relevant, gains=gains)
        # AUC as the estimator scores it: relevant documents against the others.
        two_kinds = ranking_report((grades >= relevant).astype(int), scores, qid, k)
        columns = {**report.scores, "auc": two_kinds.scores["auc"]}
        by_query = [
            {
                "qid": None if batch.qid is None else report.qid[q],
                "n_documents": report.n_documents[q],
                "n_relevant": report.n_relevant[q],
                **{name: column[q] for name, column in columns.items()},
            }
            for q in range(len(report.qid))
        ]
        return {
            "n_queries": len(report.qid),
            "n_documents": len(grades),
            "n_relevant": int(report.n_relevant.sum()),
            "relevant": relevant,
            "gain": gains,
            "means": {**report.means, "auc": two_kinds.means["auc"]},
            "n_undefined": {**report.n_undefined, "auc": two_kinds.n_undefined["auc"]},
            "by_query": by_query,
        }

    def tables(
        self, found: dict[str, Any], title: str, own: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return a table of means and, not after training, one of the first queries.

        The table of queries has the largest k only, so that it fits a terminal.
        """
        rows = {
            "queries": found["n_queries"],
            "documents": found["n_documents"],
            "relevant": f"{found['n_relevant']} (grade >= {found['relevant']:g})",
        }
        cells = [
            [_NAMES.get(name, name.replace("ndcg", "NDCG")), f"{mean:.4f}", found["n_queries"] - n]
            for (name, mean), n in zip(
                found["means"].items(), found["n_undefined"].values(), strict=True
            )
        ]
        heads = ["measure", "mean", "queries"]
        tables = [console.facts(title, rows), console.grid("Means over queries", heads, cells)]
        if own is None:
            return tables
        n_shown = MOST_QUERIES if own["queries"] is None else own["queries"]
        return [*tables, *_one_by_one(found, n_shown)] if n_shown else tables

    def weights(self, path: Path, estimator: Any, labels: list[str] | None) -> Any:
        """Return the one row of weights."""
        if labels:
            raise ValueError(f"--label: {path} ranks documents, and has no labels.")
        return estimator.coef_

    def facts(self, estimator: Any) -> dict[str, Any]:
        """Return what documents are ranked by, and which are relevant if the cost goes by that."""
        goes_by_grades = hasattr(estimator._cost(), "gain")
        return {
            "cost": estimator.cost,
            "relevant": None if goes_by_grades else f"grade >= {_relevant(estimator):g}",
            "normalize": _normalize(estimator),
        }

    def sample(self, storage: str, dtype: str) -> tuple[Any, Any]:
        """Return two queries of six documents."""
        X, y = noise(storage, dtype)
        return [X[:6], X[6:]], [y[:6], y[6:]]


def _relevant(estimator: Any) -> Any:
    return getattr(estimator, Ranking.parameters["relevant"])


def _normalize(estimator: Any) -> Any:
    return getattr(estimator, Ranking.parameters["normalize"])


def _n_queries(batch: Batch) -> int:
    """Return how many queries a file has; rows without a qid are one."""
    return 1 if batch.qid is None else len(set(batch.qid.tolist()))


def scale_note(batch: Batch) -> str | None:
    """Say so if the features of queries have such different scales that one rules all others.

    Examples
    --------
    >>> import numpy as np
    >>> scale_note(Batch(Path("a.svm"), np.array([[1.0, 1e7, 2.0]]), None, False))
    'Features reach from 1 to 1e+07 (x[1]): training may get nowhere. --normalize maxabs helps.'
    """
    import numpy as np

    sizes = abs(batch.X)
    if hasattr(sizes, "toarray"):
        largest = np.ravel(sizes.nanmax(axis=0).toarray())
    else:
        largest = np.fmax.reduce(sizes, axis=0)  # missing values have no size
    top, used = int(largest.argmax()), largest[largest > 0]
    if not len(used) or not largest[top] > _WIDE * np.median(used):
        return None
    return (
        f"Features reach from {used.min():.3g} to {largest[top]:.3g} (x[{top}]): training may get "
        "nowhere. --normalize maxabs helps."
    )


def ranking_cost(name: str | None, k: int | None, gain: str | None) -> Any:
    """Return the cost that the options name; None: the estimator's own.

    Examples
    --------
    >>> ranking_cost("ndcg_at_k", 5, None)
    NDCGAtK(k=5, gain='exponential')
    >>> ranking_cost("auc", 5, None)
    Traceback (most recent call last):
        ...
    ValueError: --k is for the costs ndcg_at_k, precision_at_k, not for auc.
    """
    from maxmargin import RankingSVM
    from maxmargin.costs import COSTS, check_priced, fitting_costs
    from maxmargin.estimators.ranking.scores import cost_meant
    from maxmargin.inputs.checks import unknown

    costs: dict[str, Any] = {cost: COSTS[cost] for cost in fitting_costs("places")}
    if name is not None and name not in COSTS:
        meant = cost_meant(name)
        raise unknown("cost", name, costs, meant and f" Say {meant[1]}.")
    if name is not None:
        check_priced(COSTS[name], "places")
    given = {option: value for option, value in (("k", k), ("gain", gain)) if value is not None}
    if not given:
        return name
    name = RankingSVM().cost if name is None else name
    known = {cost: {field.name for field in fields(costs[cost])} for cost in costs}
    for option in given:
        if option not in known[name]:
            able = ", ".join(cost for cost in known if option in known[cost])
            raise ValueError(f"--{option} is for the costs {able}, not for {name}.")
    return costs[name](**given)


def _one_by_one(found: dict[str, Any], n_shown: int) -> list[Any]:
    k = max(int(name.partition("@")[2]) for name in found["means"] if "@" in name)
    columns = ["average_precision", "auc", "ndcg", f"ndcg@{k}", f"precision@{k}"]
    heads = ["query", "documents", "relevant", "AP", "AUC", "NDCG", f"NDCG@{k}", f"P@{k}"]
    shown = found["by_query"][:n_shown]
    cells = [
        [
            "all" if query["qid"] is None else query["qid"],
            query["n_documents"],
            query["n_relevant"],
            *(_score(query[name]) for name in columns),
        ]
        for query in shown
    ]
    n = found["n_queries"]
    title = "Queries" if len(shown) == n else f"Queries, the first {len(shown)} of {n}"
    tables: list[Any] = [console.grid(title, heads, cells)]
    if len(shown) < n:
        tables.append(f"{n - len(shown)} more: --queries {n} shows all, --json has all measures.")
    return tables


def _score(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"
