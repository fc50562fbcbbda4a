"""Which formats there are.

Owns their list. A new format is one module with a function from what is asked for to files, and
one line here.
"""

from __future__ import annotations

from collections.abc import Callable

from dpcov.answers.exports.asked import Asked
from dpcov.answers.exports.lavaan import write_lavaan
from dpcov.answers.exports.r_reader import write_r_reader
from dpcov.answers.exports.spss_matrix import write_spss_matrix

__all__ = ["FORMATS", "Writer"]

Writer = Callable[[Asked], dict[str, bytes]]

FORMATS: dict[str, Writer] = {
    "lavaan": write_lavaan,
    "spss-matrix": write_spss_matrix,
    "r": write_r_reader,
}
