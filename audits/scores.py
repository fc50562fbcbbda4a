"""Write the scores of dpcov's neighboring tables to a file, for an auditor of any kind.

    python audits/scores.py --runs 1000 --out scores.csv

One line for each run: the pair of tables, which of them, and the log of the likelihood ratio of all
answers of the noise door. Larger speaks for the first table. Claims are in the first lines, as
comments.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from dpcov import audit


def write(out: Path, runs: int, only: list[str] | None) -> None:
    """Run every mechanism on both of its tables, and write what an adversary computes."""
    pairs = [each for each in audit.neighbors() if only is None or each.name in only]
    with out.open("x", encoding="utf-8", newline="") as file:
        for pair in pairs:
            file.write(f"# {pair.name}: epsilon {pair.claimed:g}, delta {pair.delta:g}\n")
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["name", "table", "score"])
        for pair in pairs:
            samples = audit.sample(pair, runs)
            for table, scores in enumerate((samples.first, samples.second)):
                lines.writerows([pair.name, table, repr(float(score))] for score in scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="on each table")
    parser.add_argument("--out", type=Path, required=True, help="a CSV file that is not there")
    parser.add_argument("--only", nargs="+", help="names of pairs")
    given = parser.parse_args()
    write(given.out, given.runs, given.only)
