"""Train HiClass and write its predictions; run by hierarchy_accuracy.py in HiClass' environment.

python benchmarks/hierarchy_hiclass.py FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC


def main(folder: Path) -> None:
    task = json.loads((folder / "task.json").read_text())
    X, rows = (sp.load_npz(folder / f"{name}.npz") for name in ("X", "rows"))
    if task["dense"]:
        X, rows = X.toarray(), rows.toarray()
    width = max(len(path) for path in task["levels"])
    levels = np.array([path + [""] * (width - len(path)) for path in task["levels"]])
    if task["kind"] == "parent":
        local = LinearSVC(C=task["C"], random_state=0)
        model = LocalClassifierPerParentNode(local_classifier=local)
    else:  # needs predict_proba
        local = LogisticRegression(C=task["C"], max_iter=300)
        model = LocalClassifierPerNode(local_classifier=local)
    started = time.process_time()
    model.fit(X, levels)
    seconds = time.process_time() - started
    labels = [[level for level in row if level][-1] for row in model.predict(rows).tolist()]
    (folder / "answer.json").write_text(json.dumps({"labels": labels, "seconds": seconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
