"""Before and after: whole fits by an old commit and by this tree, in turns, in fresh processes.

    python benchmarks/before_after.py OLD [--turns 3] [--only words,classes] [--write]

Each fit is made once to compile; then, in each of a few fresh processes, the CPU seconds of a
second fit are taken (the first one also loads compiled code, and has a column of its own), and the
peak of memory. The weights of both trees are compared too. The smallest of the turns is taken,
since a busy machine only ever adds.
"""

from __future__ import annotations

import argparse
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
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="commit to compare with")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="parts of names of fits, with commas between")
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "old"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", str(old), options.old], check=True)
        try:
            table = compare(old, options.turns, [part for part in options.only.split(",") if part])
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], check=True)
    page = "\n".join(table) + "\n"
    sys.stdout.write(page)
    if options.write:
        command = f"python benchmarks/before_after.py {options.old}"
        head = f"# Before ({options.old}) and after\n\n`{command}`\n\n"
        (ROOT / "benchmarks" / "results" / "before_after.md").write_text(head + page)


def compare(old: Path, turns: int, only: list[str]) -> list[str]:
    rows = [
        "| fit | CPU s before | after | ratio | first fit before | after "
        "| MB before | after | weights |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, code in FITS.items():
        if only and not any(part in name for part in only):
            continue
        trees = (old / "src", ROOT / "src")
        found: list[list[dict[str, Any]]] = [[], []]
        for turn in range(turns + 1):
            for tree, of_tree in zip(trees, found, strict=True):
                answer = ask(_CODE % code, tree)
                if turn:  # the first one compiles
                    of_tree.append(answer)
        before, after = (min(one["seconds"] for one in of_tree) for of_tree in found)
        first = [min(one["first"] for one in of_tree) for of_tree in found]
        memory = [min(one["megabytes"] for one in of_tree) for of_tree in found]
        same = "equal" if found[0][0]["w"] == found[1][0]["w"] else "differ"
        rows.append(
            f"| {name} | {before:.2f} | {after:.2f} | {after / before:.3f} | {first[0]:.2f} "
            f"| {first[1]:.2f} | {memory[0]:.0f} | {memory[1]:.0f} | {same} |"
        )
        sys.stderr.write(rows[-1] + "\n")
    return rows


if __name__ == "__main__":
    main()
