"""The audit kit: others can check the promise, with this attack or with tools of their own.

>>> from dpcov import audit
>>> found = audit.run(runs=200, only=["local-gaussian"], confidence=0.99999)
>>> found.holds, found.is_powerful
(True, True)

`run` attacks every mechanism, and mechanisms with planted bugs beside it, which it must catch.
`neighbors` gives the fixed pairs of tables, `sample` scores for other auditors, and `recording` and
`replaying` stand at the one door through which noise is added. See docs/audit.md.
"""

from dpcov.audit.bounds import clopper_pearson_epsilon, gaussian_dp_epsilon, plug_in_epsilon
from dpcov.audit.campaign import run
from dpcov.audit.findings import Audit, Finding
from dpcov.audit.likelihood import log_likelihood_ratio, squared_distance
from dpcov.audit.neighbor_pair import NeighborPair
from dpcov.audit.neighbors import neighbors
from dpcov.audit.passages import Passage, Recording
from dpcov.audit.recording import recording, replaying
from dpcov.audit.sampling import Samples, sample

__all__ = [
    "Audit",
    "Finding",
    "NeighborPair",
    "Passage",
    "Recording",
    "Samples",
    "clopper_pearson_epsilon",
    "gaussian_dp_epsilon",
    "log_likelihood_ratio",
    "neighbors",
    "plug_in_epsilon",
    "recording",
    "replaying",
    "run",
    "sample",
    "squared_distance",
]
