"""Time maxmargin beside its peers, print one table and write each topic to benchmarks/results/.

python benchmarks/run.py
python benchmarks/run.py --only words,classes
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from pathlib import Path

TOPICS = (
    "words",
    "classes",
    "chunking",
    "threads",
    "memory",
    "compile_time",
    "bandwidth",
    "visits",
    "searches",
    "chain_searches",
    "convergence",
    "label_accuracy",
    "label_scale",
    "label_surrogates",
    "label_slack",
    "ranking_inference",
    "ranking_training",
    "ranking_solvers",
    "tolerance",
    "long_sequences",
    "fuzzing",
    "ranking_defaults",
    "rounding",
    "rounding_scenes",
    "graph_moves",
    "graph_inference",
    "graph_growth",
    "graph_relaxations",
    "graph_scenes",
    "graph_learning",
    "hierarchy_accuracy",
    "hierarchy_sets",
    "hierarchy_curves",
    "hierarchy_speed",
    "hierarchy_scale",
    "strings",
    "kernels",
    "race",
    "slack_headline",
    "partial_linearization",
    "tau_schedule",
    "latent",
    "parse_inference",
    "parsing",
    "parsing_certificates",
    "parsing_surrogates",
    "ner",
    "mmcrf",
)
#: Topics that need more than `make bench` installs: named with --only, in their environment.
APART = ("deep", "deep_surrogates", "deep_converged", "deep_rounding")
RESULTS = Path(__file__).resolve().parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(TOPICS), help="topics, with commas between")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    topics = options.only.split(",")
    unknown = [topic for topic in topics if topic not in TOPICS + APART]
    if unknown:
        parser.error(
            f"--only: {unknown[0]!r} is not known. There are: {', '.join(TOPICS + APART)}."
        )
    measure(topics, options.results)


def measure(topics: list[str], folder: Path) -> None:
    # Before numpy and numba are imported, which read these once.
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    harness = importlib.import_module("harness")
    # Not at a terminal a table would be squeezed into 80 columns.
    console = harness.Console()
    if not console.is_terminal:
        console.width = 150
    progress = harness.Console(stderr=True, highlight=False)
    lines, start = [], time.perf_counter()
    for topic in topics:
        facts, of_topic, begin = harness.machine(), [], time.perf_counter()
        for line in importlib.import_module(topic).lines():
            line.topic = topic
            of_topic.append(line)
            progress.print(
                f"[{time.perf_counter() - start:5.0f} s]",
                *harness.cells(line),
                sep="  ",
                soft_wrap=True,
            )
            # Written anew after each line: an interrupted run leaves what it has measured.
            harness.write(of_topic, facts, time.perf_counter() - begin, folder, topic)
        lines += of_topic
    harness.show(lines, console)
    console.print(f"Written to {folder}, a page and a JSON file a topic.")


if __name__ == "__main__":
    main()
