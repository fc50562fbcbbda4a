"""An order of the columns that shows blocks.

Owns seriation. Connected components come one after the other, the largest first, and the
columns without any relation last. Within a component, similar columns are neighbours:
average linkage on 1 − |correlation|, its leaves in the best order (Bar-Joseph, Gifford and
Jaakkola 2001).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.postprocess.psd import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["block_order"]

# Beyond these sizes of a component: any order of the leaves; no tree at all.
_BEST_ORDER, _TREE = 600, 4000


def block_order(correlation: csr_array) -> npt.NDArray[np.intp]:
    """Return the places of the columns in an order that shows blocks.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> matrix = np.zeros((5, 5))
    >>> matrix[1, 4] = matrix[4, 1] = 0.5
    >>> block_order(csr_array(matrix)).tolist()
    [1, 4, 0, 2, 3]
    """
    linked = sorted(components(correlation), key=lambda members: (-len(members), members[0]))
    parts = [members[_leaves(correlation[members][:, members])] for members in linked]
    related = np.concatenate([np.empty(0, dtype=np.intp), *parts])
    alone = np.setdiff1d(np.arange(correlation.shape[0]), related)
    return np.concatenate([related, alone])


def _leaves(part: csr_array) -> npt.NDArray[np.intp]:
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.sparse.csgraph import reverse_cuthill_mckee
    from scipy.spatial.distance import squareform

    size = part.shape[0]
    if size > _TREE:
        return np.asarray(reverse_cuthill_mckee(part, symmetric_mode=True), dtype=np.intp)
    distance = 1.0 - np.minimum(np.abs(part.toarray()), 1.0)
    distance = (distance + distance.T) / 2
    np.fill_diagonal(distance, 0.0)
    tree = linkage(
        squareform(distance, checks=False), "average", optimal_ordering=size <= _BEST_ORDER
    )
    return np.asarray(leaves_list(tree), dtype=np.intp)
