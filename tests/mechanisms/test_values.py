"""Values of mechanisms: what was checked when they were made stays as it was."""

import importlib
import pkgutil
from dataclasses import is_dataclass


def test_no_value_of_a_mechanism_can_be_changed():
    """Scales, events and promises belong together, and were compared once."""
    room = importlib.import_module("dpcov.mechanisms")
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    ]
    values = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and is_dataclass(each) and each.__module__ == module.__name__
    }
    assert {value.__name__ for value in values} >= {"MomentsCalibration", "Payment", "Request"}
    assert [value.__name__ for value in values if not value.__dataclass_params__.frozen] == []
