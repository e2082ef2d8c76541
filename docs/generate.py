"""Writes the generated parts of the docs: formats, command help, metrics, model, tables. `--check` only compares."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import get_args

import click
import msgspec
from conversion_cells import Cell, cells
from token_truth import Reckoning, reckonings

import pantrace
from pantrace.catalog import conventions
from pantrace.cli import COMMANDS, cli
from pantrace.cli.formats import field_docs, option_list
from pantrace.cli.rubrics import grade_range, managed_inputs, marked_inputs
from pantrace.engine.plan import Plan
from pantrace.formats import all_formats
from pantrace.judges import load_rubric, rubric_names
from pantrace.judges.managed import families, pinned_versions
from pantrace.judges.rubric import chosen
from pantrace.metrics import all_metrics, by_name, measures
from pantrace.store import schema

ROOT = Path(__file__).parent.parent
MODEL = ROOT / "src/pantrace/model"
MODEL_FILES = ("run", "trajectory", "parts", "action", "usage", "case", "score", "report")


def format_table(folder: str) -> str:
    """Name, direction and purpose of every format, linked to its page."""
    lines = ["| format | reads | writes | what it is |", "|---|---|---|---|"]
    for each in all_formats():
        page = ROOT / "docs/formats" / f"{each.name}.md"
        name = f"[`{each.name}`]({folder}formats/{each.name}.md)" if page.exists() else f"`{each.name}`"
        lines.append(f"| {name} | {'yes' if each.reads else ''} | {'yes' if each.writes else ''} | {each.title}. |")
    return "\n".join(lines)


def format_notes() -> str:
    """What is to be known of a format beyond its purpose."""
    return "\n".join(f"- `{each.name}`: {each.note}." for each in all_formats() if each.note)


def option_table() -> str:
    """Every writer's options."""
    lines = ["| format | option | default | meaning |", "|---|---|---|---|"]
    for each in all_formats():
        for option in option_list(each):
            default = "" if option["default"] is None else f"`{option['default']}`"
            lines.append(f"| `{each.name}` | `{option['name']}` | {default} | {option['help']} |")
    return "\n".join(lines)


def command_help() -> str:
    """The help text of every command."""
    blocks = []
    for name in (None, *COMMANDS):
        group = click.Context(cli, info_name="pantrace", **cli.context_settings)
        command = cli if name is None else cli.get_command(group, name)
        assert command is not None
        context = group if name is None else click.Context(command, info_name=name, parent=group)
        context.max_content_width = 100
        context.terminal_width = 100
        title = "pantrace" if name is None else f"pantrace {name}"
        blocks.append(f"## {title}\n\n```text\n{command.get_help(context).rstrip()}\n```")
    return "\n\n".join(blocks)


EXAMPLES = ROOT / "examples"
SOURCES = (
    ("opencode", EXAMPLES / "opencode"),
    ("adk", EXAMPLES / "adk"),
    ("inspect", EXAMPLES / "inspect"),
    ("openadapt", EXAMPLES / "openadapt/login"),
    ("explain", EXAMPLES / "explain"),
)
TARGETS = ("vertex-seed", "adk-jsonl", "openadapt-episodes", "explain", "inspect")


@cache
def conversions() -> list[Cell]:
    """The bundled recordings, each written as each format."""
    return cells(SOURCES, TARGETS)


def conversion_table() -> str:
    """Five systems by five formats."""
    lines = [f"| from / to | {' | '.join(f'`{name}`' for name in TARGETS)} |", "|---" * (len(TARGETS) + 1) + "|"]
    for name, _ in SOURCES:
        words = [each.words() for each in conversions() if each.source == name]
        lines.append(f"| {name} | {' | '.join(words)} |")
    return "\n".join(lines)


def conversion_losses() -> str:
    """For each conversion, the kinds of values that were lost or kept for pantrace only, most frequent first."""
    lines = ["| from | to | lost | kept for pantrace only |", "|---|---|---|---|"]
    for each in conversions():
        if each.report is None or not each.report.samples:
            continue
        lost = Counter[str]()
        for (path, what, _), count in each.report.losses.items():
            lost[f"`{path}`" + ("" if what == "absent" else f" ({what})")] += count
        carried = Counter({f"`{path}`": count for path, count in each.report.carried.items()})
        lines.append(f"| {each.source} | {each.to} | {_most(lost)} | {_most(carried)} |")
    return "\n".join(lines)


def reencoded_table() -> str:
    """What each format declares to be held in another form."""
    lines = ["| format | values | why nothing is lost |", "|---|---|---|"]
    lines += [f"| `{each.name}` | `{path}` | {why} |" for each in all_formats() for path, why in each.reencoded.items()]
    return "\n".join(lines)


def _most(counts: Counter[str]) -> str:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{name} {count}" for name, count in ranked[:6])
    return listed + (f", {len(ranked) - 6} more kinds" if len(ranked) > 6 else "") or "nothing"


GOLDEN = ROOT / "tests/golden"
SESSIONS = (
    ("coding session, OpenCode 1.18.33", "opencode", EXAMPLES / "opencode/multi_turn_reasoning_edit_compaction.json"),
    ("two shop cases, ADK 2.13.0", "adk-history", EXAMPLES / "adk/garden_shop.evalset_result.json"),
    ("five questions, Inspect 0.3.285", "inspect", EXAMPLES / "inspect/basic.eval"),
)
RECORDED = (
    ("one session, OpenCode 1.1.65", "opencode", GOLDEN / "opencode/storage-1.1.65"),
    ("refund, ADK 2.13.0", "adk-session", GOLDEN / "adk-session/saved_refund.session.json"),
    ("two cases, the ADK workshop's converter", "adk-jsonl", GOLDEN / "adk-jsonl/reference_converter.jsonl"),
    ("a sub-agent, Claude Code 2.1.197", "claude-code", GOLDEN / "claude-code/stream_json_subagent_stdout.jsonl"),
    ("a rewound session, Claude Code 2.1.197", "claude-code", GOLDEN / "claude-code/rewind.jsonl"),
    ("code mode, Codex 0.166.0", "codex", GOLDEN / "codex/codemode.jsonl"),
    ("coding session, Gemini CLI 0.61.0", "gemini-cli", GOLDEN / "gemini-cli/session-2026-11-16T05-50-89e6e23f.jsonl"),
    ("one question, Qwen Code 0.15.10", "qwen-code", GOLDEN / "qwen-code/fc82f104-05ba-432b-b4e1-2475262504d2.jsonl"),
    ("coding session, mini-swe-agent 2.4.6", "mini-swe-agent", GOLDEN / "mini-swe-agent/steps.traj.json"),
    ("two sub-agents, OpenHands 1.58.0", "openhands", GOLDEN / "openhands/a622b56adf9748678f753b129aa96b80"),
    ("parallel calls, OpenHands V0 (written by hand)", "openhands-v0", GOLDEN / "openhands-v0/pump.json"),
    ("two responses, Agent Framework 1.23.0", "agent-framework", GOLDEN / "agent-framework/two_responses.json"),
    ("two questions, pydantic-ai 2.66.0", "pydantic-ai", GOLDEN / "pydantic-ai/library.json"),
    ("two questions, LangGraph 1.2.20", "langchain", GOLDEN / "langchain/library.json"),
    ("two questions, Strands Agents 1.62.0", "strands", GOLDEN / "strands/session_library-1"),
    ("Claude Code's session above, by harbor", "atif", GOLDEN / "atif/harbor_claude_code_subagent.trajectory.json"),
    ("three requests, Anthropic's API", "anthropic-messages", GOLDEN / "anthropic-messages/exchanges.jsonl"),
    ("three requests, OpenAI's Responses", "openai-responses", GOLDEN / "openai-responses/exchanges.jsonl"),
    ("one run, trace of the Agents SDK 0.24.0", "openai-responses", GOLDEN / "openai-responses/trace_export.jsonl"),
    ("one question, pydantic-ai's spans", "otlp", GOLDEN / "otlp/pydantic_ai.otlp.json"),
    ("one question, Strands' spans", "otlp", GOLDEN / "otlp/strands.otlp.json"),
    ("one question, OpenInference's spans", "otlp", GOLDEN / "otlp/openinference_openai.otlp.json"),
)
WRITTEN = ("opencode", "adk-history", "adk-session", "adk-jsonl", "inspect", "claude-code", "codex", "otlp", "atif")
"""Formats that the first three are written as."""


def truth_table() -> str:
    """The same session in each format: what a script adds up, what is right, what the file says itself."""
    found = [
        row
        for session, name, path in SESSIONS
        for row in reckonings(session, path, name, [to for to in WRITTEN if to != name])
    ]
    found += [row for session, name, path in RECORDED for row in reckonings(session, path, name, ())]
    head = ["session", "format", "usage records", "naive sum", "right sum", "the file's own total", "naive - right"]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *map(_truth_row, found)])


def _truth_row(row: Reckoning) -> str:
    assert row.right is not None
    wrong = f"{row.naive - row.right:+,}" if row.naive != row.right else ""
    name = f"`{row.format}`" + ("" if row.recorded else ", written by pantrace")
    own = "none" if row.own is None else f"{row.own:,}"
    return f"| {row.session} | {name} | {row.records:,} | {row.naive:,} | {row.right:,} | {own} | {wrong} |"


def convention_table() -> str:
    """The rule book of token counts."""
    lines = ["| producer | versions | input is | output is | cached in | repeated where | source |", "|---" * 7 + "|"]
    for each in conventions():
        parts = [" + ".join(f"`{name}`" for name in names) for names in (each.input, each.output)]
        cached = f"`{each.cache_read}`" if each.cache_read else "not told"
        unsure = "; a record's own total decides" if each.decided_by_total else ""
        inside = "" if each.cache_read in each.input or each.cache_read is None else ", inside the input"
        lines.append(
            f"| {each.producer} | {each.versions}{unsure} | {parts[0]} | {parts[1]} | {cached}{inside} "
            f"| {each.repeats or 'nowhere'} | {each.source} |"
        )
    return "\n".join(lines)


def metric_table() -> str:
    """Every metric in a line; below, its formula and when it does not apply."""
    lines = ["| metric | what it measures |", "|---|---|"]
    lines += [f"| [`{each.name}`](#{each.name}) | {_cell(each.summary)} |" for each in all_metrics()]
    for each in all_metrics():
        lines += ["", f"### {each.name}", "", each.summary, ""]
        lines += [f"- **{part}:** {each.documented[part]}" for part in _METRIC_PARTS if each.documented.get(part)]
    return "\n".join(lines)


_METRIC_PARTS = ("Formula", "Not applicable when")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def measure_table() -> str:
    """Every measure with its unit, direction and pooling."""
    lines = ["| measure | unit | better | over all samples | what it is |", "|---|---|---|---|---|"]
    for each in measures():
        pooled = {"ratio": "ratio of sums", "sum": "sum", "rate": "share of samples", "mean": ""}[each.pooling]
        what = each.what or by_name(each.metric).summary
        lines.append(f"| `{each.address}` | {each.unit or ''} | {each.better or ''} | {pooled} | {what} |")
    return "\n".join(lines)


def function_table() -> str:
    """Every function of the library with the first sentence of its docstring; below, its parameters."""
    lines, below = ["| function | what it does |", "|---|---|"], []
    for name in pantrace.__all__:
        function = getattr(pantrace, name)
        if not callable(function):
            continue
        given = inspect.signature(function).parameters.values()
        first = [
            each.name if each.kind is not each.VAR_POSITIONAL else f"*{each.name}" for each in given if _leads(each)
        ]
        options = [_with_default(each) for each in given if not _leads(each) and not each.name.startswith("on_")]
        told = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
        lines.append(f"| `{name}({', '.join(first)})` | {_cell(told)} |")
        below += [f"- `{name}`: {', '.join(options)}"] if options else []
    return "\n".join([*lines, "", "Parameters that are given by name, with their defaults:", "", *below])


def _with_default(parameter: inspect.Parameter) -> str:
    """A parameter by its name; with its default where that says something."""
    said = parameter.default not in (parameter.empty, None, ())
    return f"`{parameter.name}={parameter.default!r}`" if said else f"`{parameter.name}`"


def _leads(parameter: inspect.Parameter) -> bool:
    return parameter.kind is not parameter.KEYWORD_ONLY


def rubric_table() -> str:
    """Every rubric that ships."""
    lines = ["| rubric | grades | judges | inputs | what it asks |", "|---|---|---|---|---|"]
    for each in (load_rubric(name) for name in rubric_names()):
        shown = chosen(each, each.scope) if each.scope in each.variants else each
        inputs = ", ".join(marked_inputs(shown)).replace("|", "\\|")
        scope = each.scope.replace("_", " ")
        lines.append(f"| `{each.name}` | {grade_range(each)} | {scope} | {inputs} | {each.description} |")
    return "\n".join(lines)


def managed_table() -> str:
    """Every metric that Vertex AI keeps."""
    lines = ["| rubric | inputs | prompts | what it asks |", "|---|---|---|---|"]
    for name, family in families().items():
        names = " ".join(f"`{each}`" for each in pinned_versions(name))
        lines.append(f"| {names} | {', '.join(managed_inputs(family))} | {family.turns} | {family.description} |")
    return "\n".join(lines)


def model_reference() -> str:
    """Every struct of the model with its fields, from the source."""
    blocks = []
    for name in MODEL_FILES:
        for node in ast.parse((MODEL / f"{name}.py").read_text()).body:
            if isinstance(node, ast.ClassDef):
                blocks.append(_struct(node))
    return "\n\n".join(blocks)


def plan_table() -> str:
    """Every key of a plan, from the source."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for table in msgspec.structs.fields(Plan):
        kind = next((each for each in (table.type, *get_args(table.type)) if isinstance(each, type)), None)
        if kind is None or not issubclass(kind, msgspec.Struct):
            lines.append(f"| `{table.name}` | {_default(table)} | what the run is called |")
            continue
        told = field_docs(kind)
        for field in msgspec.structs.fields(kind):
            meaning = told.get(field.name, "").replace("|", "\\|")
            lines.append(f"| `{table.name}.{field.name}` | {_default(field)} | {meaning} |")
    return "\n".join(lines)


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return "" if value in (None, msgspec.NODEFAULT) else f"`{msgspec.json.encode(value).decode()}`"


def table_reference() -> str:
    """Every table of a run directory with its columns, from the source."""
    tree = ast.parse(Path(schema.__file__).read_text())
    nodes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    titles = {"Addressed": "Every table but runs", **{row.__name__: name for name, row in schema.TABLES.items()}}
    order = ["RunRow", "Addressed", *(row.__name__ for row in schema.PART_TABLES.values())]
    kinds = {kind.__name__: name for kind, name in schema.SQL_TYPES.items()}
    blocks = []
    for name in order:
        lines = [f"### {titles[name]}", "", " ".join((ast.get_docstring(nodes[name]) or "").split()), ""]
        lines += ["| column | type | meaning |", "|---|---|---|"]
        for field, kind, meaning in _fields(nodes[name]):
            lines.append(f"| `{field}` | {kinds[kind.partition(' ')[0]]} | {meaning} |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _struct(node: ast.ClassDef) -> str:
    lines = [f"### {node.name}", "", " ".join((ast.get_docstring(node) or "").split()), ""]
    lines += ["| field | type | meaning |", "|---|---|---|"]
    return "\n".join(lines + [f"| `{field}` | `{kind}` | {meaning} |" for field, kind, meaning in _fields(node)])


def _fields(node: ast.ClassDef) -> list[list[str]]:
    """Name, type and meaning of a struct's own fields."""
    rows: list[list[str]] = []
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            rows.append([item.target.id, ast.unparse(item.annotation).replace("|", "\\|"), ""])
        elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and rows:
            rows[-1][2] = " ".join(str(item.value.value).split()).replace("|", "\\|")
    return rows


def seed_tables() -> str:
    """What each seed document says, the test that shows it, and where we differ on purpose."""
    blocks = []
    for path in sorted((ROOT / "tests/seeds").glob("doc*.toml")):
        document = tomllib.loads(path.read_text())
        lines = [f"## {path.stem.removeprefix('doc')}. {document['title']}", ""]
        lines += ["| where | what it says | shown by | |", "|---|---|---|---|"]
        for row in document["rows"]:
            tests = "<br>".join(f"[`{_test_name(test)}`](../{test.partition('::')[0]})" for test in row["tests"])
            verdict = f"differs: {row['differs']}" if "differs" in row else "holds"
            cells = [" ".join(part.split()).replace("|", "\\|") for part in (row["place"], row["says"], verdict)]
            lines.append(f"| {cells[0]} | {cells[1]} | {tests} | {cells[2]} |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _test_name(test: str) -> str:
    return test.partition("::")[2].removeprefix("test_").replace("_", " ")


def filled(text: str, name: str, content: str) -> str:
    """The text with what stands between its two marks replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    assert pattern.search(text), f"no place for {name}"
    return pattern.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text)


def pages() -> dict[Path, str]:
    """Every page with generated parts, as it should be."""
    parts = {
        "README.md": {"formats": format_table("docs/")},
        "docs/formats.md": {"formats": format_table(""), "notes": format_notes(), "options": option_table()},
        "docs/commands.md": {"commands": command_help()},
        "docs/eval.md": {"plan": plan_table()},
        "docs/judges.md": {"rubrics": rubric_table(), "managed": managed_table()},
        "docs/metrics.md": {"metrics": metric_table(), "measures": measure_table()},
        "docs/loss.md": {"reencoded": reencoded_table()},
        "docs/conversions.md": {"matrix": conversion_table(), "losses": conversion_losses()},
        "docs/model.md": {"model": model_reference()},
        "docs/python.md": {"functions": function_table()},
        "docs/store.md": {"tables": table_reference()},
        "docs/seeds.md": {"seeds": seed_tables()},
        "docs/token-truth.md": {"truth": truth_table(), "conventions": convention_table()},
    }
    found = {}
    for name, contents in parts.items():
        text = (ROOT / name).read_text()
        for part, content in contents.items():
            text = filled(text, part, content)
        found[ROOT / name] = text
    return found


def stale() -> list[str]:
    """Pages that are not as they should be."""
    return [str(path.relative_to(ROOT)) for path, text in pages().items() if path.read_text() != text]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(stale())}; run make docs" if stale() else 0)
    for path, text in pages().items():
        path.write_text(text)
