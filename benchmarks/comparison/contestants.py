"""Who takes part: the module, what its environment needs, how often each method is run.

The tools do not go together, so that each gets an environment of its own, in the versions that were
measured. A tool without requirements is dpcov, which runs here.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CONTESTANTS", "Contestant"]

_NORMS = tuple(f"norm {norm} √p" for norm in ("1", "0.7", "0.5", "0.35", "0.25"))


@dataclass(frozen=True)
class Contestant:
    """A tool, what installs it, and its methods.

    Methods that differ by a norm alone are shown as two: the norm that follows from the bounds,
    and the one that turned out best, which nobody could know.
    """

    name: str
    module: str
    requires: tuple[str, ...]
    methods: tuple[str, ...]
    runs: int

    @property
    def has_norms(self) -> bool:
        """Whether its methods are the same one at several norms."""
        return self.methods == _NORMS


CONTESTANTS = (
    Contestant(
        "dpcov",
        "dpcov_release",
        (),
        (
            "bounds stated, no gaps, add-remove",
            "bounds stated",
            "bounds stated, as released",
            "nothing stated",
        ),
        10,
    ),
    Contestant("OpenDP", "opendp_gaussian", ("opendp==0.16.0", "numpy==2.4.6"), _NORMS, 10),
    Contestant(
        "diffprivlib", "diffprivlib_pca", ("diffprivlib==0.6.6", "scikit-learn==1.6.1"), _NORMS, 5
    ),
    Contestant("PipelineDP", "pipelinedp_sums", ("pipeline-dp==0.3.1",), ("sums by partition",), 2),
    Contestant(
        "Tumult Analytics", "tumult_sums", ("tmlt.analytics==0.21.0",), ("one sum each",), 1
    ),
    Contestant(
        "SmartNoise", "smartnoise_synthesis", ("smartnoise-synth==1.0.8",), ("MST", "AIM"), 2
    ),
)
