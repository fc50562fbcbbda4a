"""Let JAX-Privacy audit dpcov: its bounds on epsilon, from scores of dpcov's neighboring tables.

    pip install jax-privacy . && python audits/jax_privacy_audit.py --runs 4000

Everything after the scores is JAX-Privacy's: Clopper–Pearson bounds with half of the scores for
the choice of a threshold, and bounds by Gaussian differential privacy with a correction for all
thresholds. The same scores of mechanisms with half the noise must be above the claim. The
confidence is corrected for the number of claims. The exit code is 1 if a claim is broken, and 4 if
a planted bug is missed by both bounds.
"""

from __future__ import annotations

import argparse
import sys
import time

from jax_privacy.auditing import CanaryScoreAuditor, Split

from dpcov import audit
from dpcov.audit.controls import controls
from dpcov.audit.neighbor_pair import NeighborPair
from dpcov.audit.sampling import Sampler, Samples

SLOW = {"learned", "default", "categories", "weights", "pairs-centers"}


def bounds(pair: NeighborPair, samples: Samples, significance: float) -> list[float | None]:
    """Return JAX-Privacy's lower bounds; the second is for Gaussian noise alone."""
    auditor = CanaryScoreAuditor(samples.first, samples.second)
    plain = auditor.epsilon_clopper_pearson(
        significance, pair.delta, one_sided=False, threshold_strategy=Split(seed=0)
    )
    if not pair.is_gaussian:
        return [float(plain), None]
    return [float(plain), float(auditor.epsilon_from_gdp(significance, pair.delta))]


def draw(sampler: Sampler, runs: int) -> Samples:
    """Run a mechanism so often on both tables."""
    for _ in range(runs):
        sampler.step()
    return sampler.samples()


def main(runs: int, confidence: float) -> int:
    """Print a table of all pairs, each with its first planted bug."""
    pairs, worst = audit.neighbors(), 0
    significance = (1 - confidence) / (2 * len(pairs))
    print(f"{'mechanism':34}{'claimed':>8}{'CP':>8}{'GDP':>8}{'runs':>8}{'time':>9}  verdict")
    for pair in pairs:
        control, count = controls(pair)[0], runs // 4 if pair.name in SLOW else runs
        lines = [
            (pair.title, pair, Sampler(pair), False),
            (f"  bug: {control.bug}", control.pair, Sampler(control.pair, control.plant), True),
        ]
        for title, attacked, sampler, planted in lines:
            begun = time.monotonic()
            plain, gaussian = bounds(attacked, draw(sampler, count), significance)
            above = max(plain, gaussian or 0.0) > attacked.claimed
            verdict = ("missed", "caught")[above] if planted else ("holds", "BROKEN")[above]
            worst = max(worst, {"BROKEN": 8, "missed": 4}.get(verdict, 0))
            shown = "–" if gaussian is None else f"{gaussian:.2f}"
            took = f"{time.monotonic() - begun:.1f} s"
            print(
                f"{title:34}{attacked.claimed:8.2f}{plain:8.2f}{shown:>8}{count:8,}{took:>9}"
                f"  {verdict}",
                flush=True,
            )
    return 1 if worst == 8 else worst


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4000, help="on each table; slow ones a quarter")
    parser.add_argument("--confidence", type=float, default=0.95)
    given = parser.parse_args()
    sys.exit(main(given.runs, given.confidence))
