"""The local model: nobody is trusted with rows, each device sends one randomized report.

>>> from dpcov import local
>>> plan = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
>>> collector = local.Collector(plan)
>>> collector.add_many([local.randomize([0.6, 0.3], plan) for _ in range(100)])
100
>>> collector.release()
Release(100 rows × 2 columns, 2-differential privacy in the local model)
"""

from dpcov.local.collector import Collector
from dpcov.local.device import Device
from dpcov.local.plan import CollectionPlan
from dpcov.local.questions import Choice, ChoiceQuestion, NumberQuestion, ScaleQuestion
from dpcov.local.randomizer import randomize, simulate_reports
from dpcov.local.shuffled import ShuffledDP
from dpcov.local.study import Study

__all__ = [
    "Choice",
    "ChoiceQuestion",
    "CollectionPlan",
    "Collector",
    "Device",
    "NumberQuestion",
    "ScaleQuestion",
    "ShuffledDP",
    "Study",
    "randomize",
    "simulate_reports",
]
