"""Bugs, planted in the library's own lines: a function is compiled anew with other text."""

import __future__

import importlib
import inspect
import sys
import textwrap


def plant(monkeypatch, where, old, new):
    """Replace a piece of text in a function and put the result wherever it is known.

    Parameters
    ----------
    where : str
        ``"module:function"`` or ``"module:Class.method"``, below dpcov.
    old, new : str
        `old` must stand in its source, so that a control does not rot unnoticed.
    """
    module_name, path = where.split(":")
    module = importlib.import_module(f"dpcov.{module_name}")
    *owners, name = path.split(".")
    owner = module
    for part in owners:
        owner = getattr(owner, part)
    original = inspect.getattr_static(owner, name)
    source = textwrap.dedent(inspect.getsource(getattr(original, "fget", original)))
    assert old in source, f"{old!r} does not stand in {where} any more"
    code = compile(
        source.replace(old, new), where, "exec", flags=__future__.annotations.compiler_flag
    )
    names = {}
    exec(code, vars(module), names)  # noqa: S102
    monkeypatch.setattr(owner, name, names[name])
    if owner is module:
        for each_name, each in list(sys.modules.items()):
            if each_name.partition(".")[0] == "dpcov" and vars(each).get(name) is original:
                monkeypatch.setattr(each, name, names[name])
