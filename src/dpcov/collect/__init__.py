"""Collections: reports of the local model, kept on the disk, counted once, released.

>>> from dpcov import collect, local
>>> import tempfile
>>> plan = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=4.0)
>>> with tempfile.TemporaryDirectory() as folder:
...     with collect.Collection.create(folder, plan) as collection:
...         collection.add(local.randomize([0.6, 0.6], plan))
<Outcome.ACCEPTED: 'accepted'>
"""

from dpcov.collect.collection import Collection
from dpcov.collect.merging import merge_collections
from dpcov.collect.store import Outcome, State

__all__ = ["Collection", "Outcome", "State", "merge_collections"]
