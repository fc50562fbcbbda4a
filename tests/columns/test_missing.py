"""The rule for missing cells is one type, from the command line to the card."""

import json
from typing import get_type_hints

import numpy as np
import pytest

import dpcov
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.releases.pairs import PairsProvenance
from dpcov.releases.provenance import Provenance
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.field_counts import FieldKernel
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.sums.signs import SignKernel


@pytest.mark.parametrize("value", [*Missing])
def test_a_rule_is_written_as_its_word(value):
    assert f"{value}" == str(value) == value.value
    assert json.loads(json.dumps(value)) == value.value
    assert Missing.parse(value.value) is Missing.parse(value) is value


@pytest.mark.parametrize("bad", ["drop", "", None, True, 1])
def test_another_rule_is_refused_with_the_list(bad):
    with pytest.raises(
        ParameterError,
        match="missing must be one of 'pairwise', 'complete', 'refuse', 'center'; got",
    ):
        Missing.parse(bad)


@pytest.mark.parametrize("owner", [CellKernel, FieldKernel, GramKernel, NormBinsKernel, SignKernel])
def test_a_kernel_takes_the_type_and_no_text(owner):
    assert get_type_hints(owner)["missing"] is Missing


@pytest.mark.parametrize("owner", [Provenance, PairsProvenance])
def test_a_provenance_states_the_type(owner):
    assert owner.__dataclass_fields__["missing"].type == "Missing"


@pytest.mark.parametrize("rule", ["center", Missing.CENTER])
def test_a_release_says_which_rule_it_followed(rule):
    rows = np.array([[1.0, np.nan], [0.5, 0.1], [0.0, 0.2]])
    stated = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0, "allow": {"small"}}
    made = dpcov.release(rows, **stated, missing=rule, seed=1)
    assert made.provenance.missing is Missing.CENTER
