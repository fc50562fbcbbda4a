"""Patches: functions that are loaded already run the code of a mutant.

Owns how code is found and exchanged. A patched function is noticed wherever it was imported to, so
that nothing has to be loaded anew. Constants, defaults and what ran while modules were loaded
cannot be patched: mutants of those are loaded (see `trial`).
"""

from __future__ import annotations

import functools
import gc
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

_CACHE = type(functools.lru_cache(lambda: None))


class Loaded:
    """All functions of some files that are loaded, and all that functions remember."""

    def __init__(self, folder: Path) -> None:
        gc.collect()
        self._functions: dict[str, list[FunctionType]] = defaultdict(list)
        self._caches = []
        for each in gc.get_objects():
            # Not `isinstance`, which asks the object: a proxy's may be gone.
            kind = type(each)
            if kind is FunctionType and each.__code__.co_filename.startswith(str(folder)):
                self._functions[each.__code__.co_filename].append(each)
            elif kind is _CACHE:
                self._caches.append(each)

    def patch(self, path: Path, source: str) -> bool:
        """Let functions of a file run other code; return whether any of them runs the change."""
        before = compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
        after = compile(source, str(path), "exec", dont_inherit=True)
        exchanged = dict(_pairs(before, after))
        changed = False
        for function in self._functions[str(path)]:
            code = exchanged.get(function.__code__)
            if code is None:
                continue
            if code.co_freevars != function.__code__.co_freevars:
                return False
            changed |= _meaning(code) != _meaning(function.__code__)
            function.__code__ = code
        for each in self._caches:
            each.cache_clear()
        return changed


def _pairs(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield code with what stands in its place, outer functions before inner ones."""
    yield before, after
    old, new = _inner(before), _inner(after)
    if [each.co_name for each in old] == [each.co_name for each in new]:
        for pair in zip(old, new, strict=True):
            yield from _pairs(*pair)


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _meaning(code: CodeType) -> tuple[Any, ...]:
    """Return what code does, wherever it stands."""
    inner = [
        _meaning(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, tuple(inner)
