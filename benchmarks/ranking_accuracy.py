"""NDCG@10 on two web search sets beside ridge and LightGBM, and how our settings were chosen.

python benchmarks/ranking_accuracy.py --select            # choose both settings anew
python benchmarks/ranking_accuracy.py --select mslr_5k    # of one data set

Cost, C and the scale of the features are chosen by the mean NDCG@10 of queries held out of the
training part, each held out once; the test part is not read. The chosen setting is trained on the
whole training part and sees the test part once, in the topic `ranking_training`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from harness import Check, Line, median_seconds
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from maxmargin import RankingSVM
from maxmargin.costs import NDCGAtK
from maxmargin.datasets import load_lgbm_rank, load_mslr
from maxmargin.metrics import ndcg

#: Where `--select` writes what it tried.
SELECTION = Path(__file__).resolve().parent / "results" / "ranking_accuracy_selection.json"
N_PARTS = 5
#: How often the queries are cut into parts anew: where they are few, one cut says little.
N_CUTS = {"mslr_5k": 4, "lgbm_rank": 1}
LOADERS = {"mslr_5k": load_mslr, "lgbm_rank": load_lgbm_rank}


@dataclass(frozen=True)
class Setting:
    """A cost, C, and what is done to the features before."""

    cost: str
    C: float
    features: str

    def __str__(self) -> str:
        return f"cost {self.cost}, C {self.C:g}, features {self.features}"


def machine(setting: Setting) -> RankingSVM:
    cost = NDCGAtK(10) if setting.cost == "ndcg_at_10" else setting.cost
    by_query = setting.features.partition(", by query ")[2] or None
    return RankingSVM(
        C=setting.C, cost=cost, normalize_queries=by_query, zeros="value", steps=0, tol=0.02,
        max_iter=60, random_state=0,
    )  # fmt: skip


def preparation(features: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return what is done to a feature value, whichever part it is in."""
    if features.startswith("logarithms"):
        return lambda X: np.sign(X) * np.log1p(np.abs(X))
    return lambda X: X


def scores_of(setting: Setting, X: Any, y: Any, qid: Any, X_new: Any, qid_new: Any) -> Any:
    """Train on one part and return the scores of another."""
    prepare = preparation(setting.features)
    scaler = StandardScaler().fit(prepare(X))
    model = machine(setting).fit(scaler.transform(prepare(X)), y, qid=qid)
    return model.predict(scaler.transform(prepare(X_new)), qid=qid_new)


#: All settings that are compared, the same for both data sets.
GRID = [
    Setting(cost, C, features)
    for cost in ("ndcg", "ndcg_at_10", "ap")
    for features in (
        "standardised",
        "standardised, by query standard",
        "logarithms",
        "logarithms, by query standard",
    )
    for C in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
]
#: What `--select` found. On mslr_5k one cut of queries had found ndcg, C 0.003, logarithms, with
#: .3734 on the test part; four cuts, which say more, were taken after that was seen, and what they
#: found is what counts here, though it has less. The selection was made with bcfw as the solver,
#: which stopped at other weights within `tol` of the same optimum.
CHOSEN = {
    "mslr_5k": Setting("ap", 0.01, "logarithms, by query standard"),
    "lgbm_rank": Setting("ndcg_at_10", 0.001, "standardised, by query standard"),
}
#: The recipe of docs/rankings.md: the default cost, features standardised by query, and C alone
#: chosen, among the same scores. With 43 queries the best of 84 settings is largely luck, the best
#: of 7 less so. These lines were added after those of `CHOSEN` had been seen.
RECIPE = {
    "mslr_5k": Setting("ndcg", 0.01, "standardised, by query standard"),
    "lgbm_rank": Setting("ndcg", 0.001, "standardised, by query standard"),
}


def dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else X


def ndcg_by_query(y: Any, scores: Any, qid: Any, k: int | None = 10) -> np.ndarray:
    """Return the NDCG of every query that has one, gains 2^grade - 1."""
    values = np.array([ndcg(y[qid == q], scores[qid == q], k) for q in dict.fromkeys(qid.tolist())])
    return values[np.isfinite(values)]


def parts(qid: np.ndarray, n_cuts: int) -> list[np.ndarray]:
    """Return which rows are held out, for each part of the queries."""
    cuts = [np.random.default_rng(seed).permutation(np.unique(qid)) for seed in range(n_cuts)]
    return [np.isin(qid, part) for cut in cuts for part in np.array_split(cut, N_PARTS)]


def try_setting(X: Any, y: Any, qid: Any, n_cuts: int, setting: Setting) -> dict[str, Any]:
    start, values = time.process_time(), []
    for out in parts(qid, n_cuts):
        scores = scores_of(setting, X[~out], y[~out], qid[~out], X[out], qid[out])
        values.append(ndcg_by_query(y[out], scores, qid[out]))
    everyone = np.concatenate(values)
    return {
        "setting": asdict(setting),
        "NDCG@10": float(everyone.mean()),
        # Of the queries: to cut them anew makes no more of them.
        "standard error": standard_error(everyone) * n_cuts**0.5,
        "cpu seconds": time.process_time() - start,
    }


def select(names: Sequence[str]) -> None:
    """Try the grid on held-out queries; print and write the best beside the chosen."""
    report = json.loads(SELECTION.read_text()) if SELECTION.exists() else {}
    for name in names:
        data = LOADERS[name]()
        X, y, qid = dense(data.X_train), data.y_train, data.extra["qid_train"]
        tried = []
        for setting in GRID:
            one = try_setting(X, y, qid, N_CUTS[name], setting)
            tried.append(one)
            score = f"{one['NDCG@10']:.4f} +- {one['standard error']:.4f}"
            print(f"{name}: {setting}: {score}, {one['cpu seconds']:.1f} s", flush=True)
        best = best_of(tried)
        for chosen, one in ((CHOSEN, best), (RECIPE, best_of(tried, RECIPE[name]))):
            verdict = "as chosen" if one["setting"] == asdict(chosen[name]) else "NOT as chosen"
            print(f"** {name}: {one}, {verdict}", flush=True)
        report[name] = {"best": best, "tried": tried}
        SELECTION.write_text(json.dumps(report, indent=1) + "\n")


def best_of(tried: list[dict[str, Any]], like: Setting | None = None) -> dict[str, Any]:
    """Return what scored best, of all or of those with the cost and the features of a setting."""
    return max(
        (one for one in tried if like is None or is_alike(one["setting"], like)),
        key=lambda one: one["NDCG@10"],
    )


def is_alike(tried: dict[str, Any], setting: Setting) -> bool:
    return (tried["cost"], tried["features"]) == (setting.cost, setting.features)


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


# The lines ---------------------------------------------------------------------------------------


def lambdarank(X: Any, y: Any, qid: Any, X_new: Any, qid_new: Any) -> Any:
    """LightGBM's lambdarank, on the features as they are, with its defaults and one thread."""
    sizes = [int((qid == q).sum()) for q in dict.fromkeys(qid.tolist())]
    model = lightgbm.LGBMRanker(n_jobs=1, verbose=-1).fit(X, y, group=sizes)
    return model.predict(X_new)


def ridge(X: Any, y: Any, qid: Any, X_new: Any, qid_new: Any) -> Any:
    """Ridge regression of the grades; alpha 10 gives the .381 and .707 that are to be beaten."""
    scaler = StandardScaler().fit(X)
    return Ridge(alpha=10.0).fit(scaler.transform(X), y).predict(scaler.transform(X_new))


#: What ours is to be above on each set.
ABOVE = {"mslr_5k": ("ridge", "lambdarank"), "lgbm_rank": ("ridge",)}


def lines() -> Iterator[Line]:
    n_like = sum(is_alike(asdict(one), RECIPE["mslr_5k"]) for one in GRID)
    for what, chosen, n_settings in (("", CHOSEN, len(GRID)), (", only C chosen", RECIPE, n_like)):
        for name, setting in chosen.items():
            yield on_test_part(name, what, setting, n_settings)


def on_test_part(name: str, what: str, setting: Setting, n_settings: int) -> Line:
    data = LOADERS[name]()
    train = dense(data.X_train), data.y_train, data.extra["qid_train"]
    test = dense(data.X_test), data.extra["qid_test"]
    learners = {"ours": partial(scores_of, setting), "ridge": ridge, "lambdarank": lambdarank}
    seconds, values = {}, {}
    for who, learn in learners.items():
        learn(*train, *test)  # compiles
        seconds[who], scores = median_seconds(partial(learn, *train, *test))
        values[who] = ndcg_by_query(data.y_test, scores, test[1])
    return beside_peers(f"{name}{what}", name, setting, n_settings, seconds, values)


def beside_peers(
    what: str,
    name: str,
    setting: Setting,
    n_settings: int,
    seconds: dict[str, float],
    values: dict[str, np.ndarray],
) -> Line:
    means = {who: float(each.mean()) for who, each in values.items()}
    peer = max(ABOVE[name], key=means.__getitem__)
    table = "; ".join(
        f"{who} {means[who]:.4f} (standard error {standard_error(values[who]):.4f}) in "
        f"{seconds[who]:.2f} CPU s"
        for who in means
    )
    apart = ", ".join(
        f"{standard_error(values['ours'] - values[who]):.4f} to {who}"
        for who in means
        if who != "ours"
    )
    return Line(
        f"{what}: NDCG@10 on the test part, beside {peer}",
        means["ours"],
        means[peer],
        unit="",
        checks=[
            Check(f"above {who} by", means["ours"] - means[who], ">", 0.0) for who in ABOVE[name]
        ],
        note=f"{setting}; chosen by cross-validation over the queries of the training part among "
        f"{n_settings} settings. {table}; {len(values['ours'])} queries. Standard errors of the "
        f"differences, query by query: {apart}."
        + ("" if what == name else " Added after the line of all settings had been seen."),
        facts={"NDCG@10": means, "seconds": seconds, "by query": values["ours"].tolist()},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--select", nargs="*", choices=tuple(LOADERS), required=True)
    warnings.simplefilter("ignore")
    select(parser.parse_args().select or tuple(LOADERS))


if __name__ == "__main__":
    main()
