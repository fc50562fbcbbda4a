"""Mutants: copies of a module in which one place is wrong.

Owns which places are changed, and how. Most changes are Cosmic Ray's; added are calls whose
opposite is the error to fear here (`min` for `max`, down for up), and steps left out. Changes
without a meaning (annotations, texts of messages) are not made.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.number_replacer import NumberReplacer
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator
from parso.python.tree import Name, Number

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dpcov"

# One or two for each operator: the nearest that is wrong. All others are noticed by the same tests.
_BINARY = (
    "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Div Mod_Mul Pow_Mul RShift_LShift LShift_RShift "
    "BitOr_BitAnd BitAnd_BitOr BitXor_BitOr"
)
_COMPARISONS = (
    "Eq_NotEq NotEq_Eq Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Is_IsNot IsNot_Is"
)
_OTHERS = (
    "ReplaceUnaryOperator_Delete_USub ReplaceUnaryOperator_Delete_Not "
    "ReplaceUnaryOperator_Delete_Invert AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue "
    "ReplaceAndWithOr ReplaceOrWithAnd ReplaceBreakWithContinue ReplaceContinueWithBreak "
    "ZeroIterationForLoop"
)
_OPPOSITES = {
    "min": "max",
    "max": "min",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "minimum": "maximum",
    "maximum": "minimum",
    "next_minus": "next_plus",
    "next_plus": "next_minus",
    "ROUND_FLOOR": "ROUND_CEILING",
    "ROUND_CEILING": "ROUND_FLOOR",
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change, known by what stands there and not by where it stands."""

    module: str
    """Below `dpcov`, such as "privacy.gaussian"."""
    place: str
    """The function or method, or "" for the module itself."""
    was: str
    becomes: str
    nth: int
    """0, or how many equal changes in the same place come before."""
    lines: tuple[int, int]
    """The first and the last line of the statement."""
    at_loading: bool
    """Whether it runs when the module is loaded: a constant, or the default of a parameter."""
    around: str
    """The text of the innermost function or class that it is in, or "" for the module itself."""
    source: str

    @property
    def name(self) -> str:
        """What tells it from all others, also after lines were moved."""
        again = f" ({self.nth + 1})" if self.nth else ""
        where = f"{self.module}:{self.place}" if self.place else self.module
        return f"{where}{again} | {self.was} → {self.becomes}"

    @property
    def key(self) -> str:
        """What tells it from all others, and its function from any other text of it."""
        return hashlib.sha256(f"{self.name}\0{self.around}".encode()).hexdigest()[:12]


class NextNumbers(NumberReplacer):  # type: ignore[misc]
    """Cosmic Ray's numbers that are one more and one less, without its spaces."""

    def mutate(self, node: Any, index: int) -> Any:
        """Return the number beside."""
        value = super().mutate(node, index).value.strip()
        return Number(value, node.start_pos, prefix=node.prefix)


class SwapOpposites(Operator):  # type: ignore[misc]
    """Replace a name by its opposite: `min` by `max`, a rounding down by one up."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield where one stands."""
        if isinstance(node, Name) and node.value in _OPPOSITES:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Return the opposite."""
        return Name(_OPPOSITES[node.value], node.start_pos, prefix=node.prefix)

    @classmethod
    def examples(cls) -> tuple[()]:
        """Cosmic Ray asks for them; its own tests use them."""
        return ()


class LeaveOut(Operator):  # type: ignore[misc]
    """Leave a step out: a call whose result nobody takes, an update, a refusal."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield where one stands."""
        if node.type == "simple_stmt" and self._is_step(node.children[0]):
            yield node.start_pos, node.end_pos

    @staticmethod
    def _is_step(statement: Any) -> bool:
        if statement.type == "expr_stmt":
            return statement.children[1].type in ("augassign", "operator") and str(
                getattr(statement.children[1], "value", "=")
            ) not in ("=", ":")
        return statement.type in ("atom_expr", "raise_stmt", "await_expr")

    def mutate(self, node: Any, index: int) -> Any:
        """Return the line with nothing in it."""
        step = node.children[0]
        prefix = step.get_first_leaf().prefix
        node.children[0] = Name("pass", step.start_pos, prefix=prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        """Cosmic Ray asks for them; its own tests use them."""
        return ()


def operators() -> list[Operator]:
    """Return all kinds of changes."""
    names = [f"ReplaceBinaryOperator_{each}" for each in _BINARY.split()]
    names += [f"ReplaceComparisonOperator_{each}" for each in _COMPARISONS.split()]
    named = [get_operator(f"core/{each}")() for each in (*names, *_OTHERS.split())]
    return [*named, NextNumbers(), SwapOpposites(), LeaveOut()]


def path_of(module: str) -> Path:
    """Return the file of a module below `dpcov`."""
    return PACKAGE.joinpath(*module.split(".")).with_suffix(".py")


def mutants_of(module: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines, each meaning once."""
    source = path_of(module).read_text(encoding="utf-8")
    places, statements = _places(source), _statements(source)
    seen = {_meaning(source)}
    found = []
    for changed in _changed(source):
        try:
            meaning = _meaning(changed)
        except SyntaxError:
            continue
        if meaning not in seen:
            seen.add(meaning)
            found.append((changed, *_difference(source, changed)))
    found.sort(key=lambda each: each[1])
    times: Counter[tuple[str, str, str]] = Counter()
    texts = source.splitlines()
    mutants = []
    for changed, line, was, becomes in found:
        begins, ends, place = _innermost(places, line)
        statement = [each for each in statements if each[0] <= line <= each[1]]
        # A decorator stands before its function.
        first, last, at_loading = max(statement, default=(line, line, True))
        mutants.append(
            Mutant(
                module,
                place,
                was,
                becomes,
                times[place, was, becomes],
                lines=(first, last),
                at_loading=at_loading,
                around="\n".join(texts[begins - 1 : ends]) if place else "",
                source=changed,
            )
        )
        times[place, was, becomes] += 1
    return mutants


def _changed(source: str) -> Iterator[str]:
    for operator in operators():
        occurrence = 0
        while (changed := MutationVisitor.mutate_code(source, operator, occurrence)) is not None:
            yield changed
            occurrence += 1


def _difference(source: str, changed: str) -> tuple[int, str, str]:
    """Return the first line that differs, and both of its texts."""
    old, new = source.splitlines(), changed.splitlines()
    steps = [
        step
        for step in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if step[0] != "equal"
    ]
    first, last = steps[0][1], max(steps[-1][2], steps[0][1] + 1)
    was = " ".join(line.strip() for line in old[first:last])
    becomes = " ".join(line.strip() for line in new[steps[0][3] : steps[-1][4]])
    return first + 1, was, becomes


def _statements(source: str) -> list[tuple[int, int, bool]]:
    """Return first and last line of each statement without those in it, and when it runs."""

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[int, int, bool]]:
        for child in ast.iter_child_nodes(node):
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(child, ast.stmt):
                inner = getattr(child, "body", None)
                last = inner[0].lineno - 1 if inner else child.end_lineno or child.lineno
                yield child.lineno, max(child.lineno, last), not inside
            yield from walk(child, inside or is_function)

    return list(walk(ast.parse(source), False))


def _places(source: str) -> list[tuple[int, int, str]]:
    """Return first line, last line and name of each function and class."""

    def walk(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                own = (*names, child.name)
                start = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                yield start, child.end_lineno or start, ".".join(own)
                yield from walk(child, own)
            else:
                yield from walk(child, names)

    return list(walk(ast.parse(source), ()))


def _innermost(places: list[tuple[int, int, str]], line: int) -> tuple[int, int, str]:
    around = [each for each in places if each[0] <= line <= each[1]]
    return max(around, default=(0, 0, ""))


class _Meaning(ast.NodeTransformer):
    """Drops what nobody can notice, and writes `not a < b` as `a >= b`."""

    _INVERTED: ClassVar[dict[type[ast.cmpop], type[ast.cmpop]]] = {
        ast.Lt: ast.GtE,
        ast.GtE: ast.Lt,
        ast.Gt: ast.LtE,
        ast.LtE: ast.Gt,
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
    }

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        # Whether parameters have to be named is held by mypy, and by tests of signatures.
        node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
        node.defaults = [*node.defaults, *(each for each in node.kw_defaults if each)]
        node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        # What is remembered is the same as what is computed again.
        node.decorator_list = [
            each for each in node.decorator_list if "cache" not in ast.dump(each)
        ]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node = self.generic_visit(node)  # type: ignore[assignment]
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            opposite = self._INVERTED.get(type(inner.ops[0]))
            if opposite is not None:
                return ast.Compare(inner.left, [opposite()], inner.comparators)
        return node


def _meaning(source: str) -> str:
    return ast.dump(_Meaning().visit(ast.parse(source)))
