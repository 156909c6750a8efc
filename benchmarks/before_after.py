"""Before and after: whole fits by an old commit and by this tree, in turns, in fresh processes.

    python benchmarks/before_after.py OLD [--turns 3] [--only words,classes] [--under CMD] [--write]

Each fit is made once to compile; then, in each of a few fresh processes, the CPU seconds of a
second fit are taken (the first one also loads compiled code, and has a column of its own), and the
peak of memory. The weights of both trees are compared too. The smallest of the turns is taken,
since a busy machine only ever adds.

With ``--only``, ``--write`` keeps the other rows of the page if they are of the same code, measured
with as many turns; else the page begins anew.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from subprocesses import ask

ROOT = Path(__file__).resolve().parents[1]

_CODE = """
import hashlib, inspect, json, resource, time, warnings
warnings.simplefilter("ignore")
import maxmargin
from maxmargin.datasets import load_conll2000, load_lgbm_rank, load_letter, load_mulan, load_ocr

def made(name, **options):
    cls = getattr(maxmargin, name)
    known = inspect.signature(cls).parameters
    return cls(**{k: v for k, v in options.items() if k in known})

%s
start = time.process_time()
model.fit(*given, **beside)
first = time.process_time() - start
start = time.process_time()
model.fit(*given, **beside)
seconds = time.process_time() - start
print(json.dumps({
    "first": first,
    "seconds": seconds,
    "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "w": hashlib.sha256(model.result_.w.tobytes()).hexdigest(),
    "passes": model.result_.n_iter,
}))
"""

#: What is fitted, by name. New parameters that would change the model are turned off.
FITS = {
    "words, bcfw": """
data = load_ocr("small")
model = made("ChainSVM", C=0.2, tol=0.01, random_state=0)
given, beside = (data.X_train, data.y_train), {}
""",
    "words, CSR": """
import scipy.sparse as sp
data = load_ocr("small")
model = made("ChainSVM", C=0.2, tol=0.01, random_state=0)
given, beside = ([sp.csr_matrix(x) for x in data.X_train], data.y_train), {}
""",
    "words, slack": """
data = load_ocr("small")
model = made("ChainSVM", C=0.05, surrogate="slack", max_iter=40, tol=0.0, random_state=0)
given, beside = (data.X_train, data.y_train), {}
""",
    "chunking, 2000 sentences": """
from maxmargin.io import FeatureTemplate
data = load_conll2000()
template = FeatureTemplate.parse("chunking", columns=data.extra["columns"])
X = template.transform(data.X_train[:2000])
model = made("ChainSVM", C=0.1, max_iter=8, tol=0.0, random_state=0)
given, beside = (X, data.y_train[:2000]), {}
""",
    "classes, 5000 letters": """
data = load_letter()
model = made("MulticlassSVM", C=1.0, max_iter=40, tol=0.0, random_state=0)
given, beside = (data.X_train[:5000], data.y_train[:5000]), {}
""",
    "Yeast, slack by lists": """
data = load_mulan("yeast")
model = made(
    "MultilabelSVM", C=0.01, pairwise="full", surrogate="slack", max_iter=10, tol=0.0,
    random_state=0,
)
given, beside = (data.X_train, data.y_train), {}
""",
    "Bibtex, all pairs, 3 passes": """
data = load_mulan("bibtex")
model = made("MultilabelSVM", C=1.0, pairwise="full", max_iter=3, tol=0.0, random_state=0)
given, beside = (data.X_train, data.y_train), {}
""",
    "rankings, lgbm_rank": """
data = load_lgbm_rank()
model = made("RankingSVM", C=0.1, tol=0.001, steps=0, zeros="value", random_state=0)
given, beside = (data.X_train, data.y_train), {"qid": data.extra["qid_train"]}
""",
    "kernel, 2000 letters": """
data = load_letter()
model = made("MulticlassSVM", kernel="rbf", C=1.0, max_iter=10, tol=0.0, random_state=0)
given, beside = (data.X_train[:2000], data.y_train[:2000]), {}
""",
}


_HEAD = [
    "| fit | CPU s before | after | ratio | first fit before | after "
    "| MB before | after | weights |",
    "|---|---|---|---|---|---|---|---|---|",
]
_PAGE = ROOT / "benchmarks" / "results" / "before_after.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="commit to compare with")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="parts of names of fits, with commas between")
    parser.add_argument(
        "--under", default="", help="command that runs each measured process, such as taskset -c 1"
    )
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args()
    only = [part for part in options.only.split(",") if part]
    names = [name for name in FITS if not only or any(part in name for part in only)]
    under = shlex.split(options.under)
    heading = _heading(options.old, options.turns, under) if options.write else ""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "old"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", str(old), options.old], check=True)
        try:
            for name in names:
                rows[name] = compare(old, name, options.turns, under)
                sys.stderr.write(rows[name] + "\n")
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], check=True)
    sys.stdout.write("\n".join([*_HEAD, *rows.values()]) + "\n")
    if options.write:
        rows = _kept(heading) | rows
        lines = [*_HEAD, *(rows[name] for name in FITS if name in rows)]
        _PAGE.write_text(heading + "\n".join(lines) + "\n")


def _heading(old: str, turns: int, under: list[str]) -> str:
    """Return the head of the page, which names the code that is measured, and how it is."""
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"], check=False).returncode:
        raise SystemExit("--write keeps figures of committed code only: src has changes.")
    found = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD:src"], check=True, capture_output=True, text=True
    )
    alone = f" --under '{' '.join([Path(under[0]).name, *under[1:]])}'" if under else ""
    command = f"python benchmarks/before_after.py {old} --turns {turns}{alone} --write"
    code = f"all rows are of the tree {found.stdout.strip()} of src"
    return (
        f"# Before ({old}) and after\n\n"
        f"`{command}`, in one call or, with `--only`, in several; {code}.\n"
        "Weights of classes differ because their solver makes other steps since (Newton's, and\n"
        "jumps over moving blocks), those of Bibtex because relaxed outputs are not rounded any\n"
        "more: both end at the same optimum, as docs/decisions.md says.\n\n"
    )


def _kept(heading: str) -> dict[str, str]:
    """Return the rows that the page has of the same code, measured the same way, by name."""
    text = _PAGE.read_text() if _PAGE.exists() else ""
    if not text.startswith(heading):
        return {}
    rows = text.removeprefix(heading).splitlines()[len(_HEAD) :]
    return {row.split("|")[1].strip(): row for row in rows}


def compare(old: Path, name: str, turns: int, under: list[str]) -> str:
    """Return the row of a fit."""
    trees = (old / "src", ROOT / "src")
    code = _CODE % FITS[name]
    for tree in trees:
        ask(code, tree)  # compiles
    found: list[list[dict[str, Any]]] = [[], []]
    for _ in range(turns):
        for tree, of_tree in zip(trees, found, strict=True):
            of_tree.append(ask(code, tree, before=under))
    before, after = (min(one["seconds"] for one in of_tree) for of_tree in found)
    first = [min(one["first"] for one in of_tree) for of_tree in found]
    memory = [min(one["megabytes"] for one in of_tree) for of_tree in found]
    same = "equal" if found[0][0]["w"] == found[1][0]["w"] else "differ"
    return (
        f"| {name} | {before:.2f} | {after:.2f} | {after / before:.3f} | {first[0]:.2f} "
        f"| {first[1]:.2f} | {memory[0]:.0f} | {memory[1]:.0f} | {same} |"
    )


if __name__ == "__main__":
    main()
