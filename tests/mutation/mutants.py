"""Wrong changes of Python source: each is one small change that a good test should notice.

Code without behavior is left out: docstrings, messages of errors and logs, annotations.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

SWAPPED_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
SWAPPED_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
WITHOUT_EFFECT = ("logger",)
"""Names whose methods only write messages."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong change.

    Attributes:
        path: the path of the source file, from the root of the checkout.
        line: the number of the line in which the change begins.
        code: that line, without the blanks around it.
        before, after: the changed piece.
        source: the source of the whole file with the change.
    """

    path: str
    line: int
    code: str
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """A description of the mutant in one line."""
        return f"{self.path}:{self.line}: {one_line(self.before)} -> {one_line(self.after)}"


def one_line(text: str) -> str:
    """Return a text with single blanks for all white space."""
    return " ".join(text.split())


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Return every mutant of a file, in the order of its lines; the same source gives the same mutants."""
    found: dict[str, Mutant] = {}
    for node, after in _Changes(source).all():
        start, end = _offsets(source, node)
        mutated = (source.encode()[:start] + after.encode() + source.encode()[end:]).decode()
        try:
            compile(mutated, path, "exec")
        except SyntaxError:
            continue  # `await` or `yield` stood there
        before = source.encode()[start:end].decode()
        if mutated != source:
            code = source.splitlines()[node.lineno - 1].strip()
            found.setdefault(mutated, Mutant(path, node.lineno, code, before, after, mutated))
    return sorted(found.values(), key=_place)


def sample(mutants: list[Mutant], most: int) -> list[Mutant]:
    """Return at most `most` of some mutants, spread over the file; always the same ones."""
    chosen = sorted(mutants, key=lambda mutant: hashlib.blake2b(mutant.name.encode()).digest())[:most]
    return sorted(chosen, key=_place)


def _place(mutant: Mutant) -> tuple[int, str, str]:
    return mutant.line, mutant.before, mutant.after


class _Changes:
    """The possible changes of a file, as pairs of a node and the text to replace it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tree = ast.parse(source)

    def all(self) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
        """Yield every change."""
        for node in self._walk(self._tree):
            if isinstance(node, ast.Constant) and self._is_mode(node):
                continue
            if isinstance(node, ast.expr):
                yield from ((node, f"({ast.unparse(other)})") for other in _expressions(node))
            elif isinstance(node, ast.stmt):
                yield from ((node, text) for text in self._statements(node))

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes below a node that may be changed."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return  # -1 means "none", and so would -2
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _only_says(child):
                    yield child
                    yield from self._walk(child)

    def _is_mode(self, node: ast.Constant) -> bool:
        """Return whether a constant is the mode of a file, such as 0o600."""
        return (ast.get_source_segment(self._source, node) or "").startswith("0o")

    def _statements(self, node: ast.stmt) -> Iterator[str]:
        match node:
            case ast.Expr(value=ast.Constant()):  # a docstring
                pass
            case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break():
                yield "pass"
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield "pass"
            case ast.Return(value=ast.expr() as value) if not _is_nothing(value):
                yield "return None"
            case (
                ast.With(items=[ast.withitem(optional_vars=None) as item])
                | ast.AsyncWith(items=[ast.withitem(optional_vars=None) as item])
            ):
                text = ast.get_source_segment(self._source, node) or ""
                head = ast.get_source_segment(self._source, item.context_expr) or ""
                if not head.startswith(("contextlib.suppress", "pytest.")):
                    yield "if True:" + text[text.index(head) + len(head) :].partition(":")[2]


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the replacements of an expression."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for place, operator in enumerate(ops):
                swapped = SWAPPED_COMPARISONS[type(operator)]()
                yield ast.Compare(left, [*ops[:place], swapped, *ops[place + 1 :]], comparators)
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SWAPPED_OPERATORS:
            yield ast.BinOp(left, SWAPPED_OPERATORS[type(operator)](), right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)


def _only_says(node: ast.AST) -> bool:
    """Return whether a node makes a text for users, or an amount in one, so that a change of it is not wrong."""
    match node:
        case ast.JoinedStr() | ast.ImportFrom() | ast.Import():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in WITHOUT_EFFECT
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__slots__" | "__all__")]):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() | ast.BinOp()) if name.isupper():
            return True  # a limit or a time: another one would do, and tests import it
        case ast.Assert() | ast.keyword(arg="strict"):  # `strict` of zip asserts too
            return True
    return False


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _offsets(source: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the start and the end of a node in bytes."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    assert node.end_lineno is not None and node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
