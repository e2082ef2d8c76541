"""What a rubric's template may contain: its inputs, conditions, one loop, a few filters.

Nothing that could run for ever or fill the memory: a rubric may come from somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pantrace.errors import UsageError

if TYPE_CHECKING:
    from jinja2 import nodes

_NODES = (
    "Template Output TemplateData Name Const If CondExpr And Or Not Compare Operand Test Filter Getattr Getitem Slice"
    " Call Concat For Add Sub Div FloorDiv Neg Pos Tuple List Dict Pair Keyword"
)
_FILTERS = (
    "abs capitalize count d default e escape first float forceescape int join last length list lower max min reverse"
    " round safe sort string sum title tojson trim truncate unique upper wordcount"
)
_METHODS = (
    "upper lower strip lstrip rstrip title capitalize split splitlines startswith endswith count find items keys values"
    " get"
)
_WORDS = {
    "Assign": "set",
    "AssignBlock": "set",
    "Macro": "macro",
    "CallBlock": "call",
    "FilterBlock": "filter",
    "Mul": "*",
    "Pow": "**",
    "Mod": "%",
}
# For a width or a count: `indent(1000000000)` would fill the memory.
_LARGEST = 10_000


def refuse_what_grows(tree: nodes.Template, place: str) -> None:
    """Raise a UsageError for a template that could take more time or memory than its inputs."""
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:
        node, loops = waiting.pop()
        if (what := _wrong(node, loops)) is not None:
            raise UsageError(f"{place}: the template is not right: line {node.lineno}: {what}")
        inner = loops + (type(node).__name__ == "For")
        waiting += [(child, inner) for child in node.iter_child_nodes()]


def _wrong(node: nodes.Node, loops: int) -> str | None:
    from jinja2 import nodes

    name = type(node).__name__
    if name not in _NODES.split():
        return f"`{_WORDS.get(name, name.lower())}` is not allowed in a rubric"
    if isinstance(node, nodes.For) and (node.recursive or loops):
        return "a loop inside a loop is not allowed in a rubric"
    if isinstance(node, nodes.Filter):
        if node.name not in _FILTERS.split():
            return f"the filter `{node.name}` is not allowed in a rubric"
        return _wrong_values(node)
    if isinstance(node, nodes.Call):
        if not (isinstance(node.node, nodes.Getattr) and node.node.attr in _METHODS.split()):
            called = node.node.attr if isinstance(node.node, nodes.Getattr) else getattr(node.node, "name", "a call")
            return f"`{called}()` is not allowed in a rubric"
        return _wrong_values(node)
    return None


def _wrong_values(node: nodes.Filter | nodes.Call) -> str | None:
    """Only literal numbers and texts: with an input as a separator, `join` would multiply one input by another."""
    from jinja2 import nodes

    for given in (*node.args, *(each.value for each in node.kwargs)):
        if not isinstance(given, nodes.Const) or (isinstance(given.value, int) and given.value > _LARGEST):
            return "a filter or a call takes only short texts and numbers up to 10,000"
    return "`*args` is not allowed in a rubric" if node.dyn_args or node.dyn_kwargs else None
