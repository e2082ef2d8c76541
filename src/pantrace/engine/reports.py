"""Reports of an evaluation for machines and for people: JUnit XML, Markdown, and the report of the Explain policy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from pantrace.model import Decision, Maker, Record, Run, Sample, Score, header_of, with_samples
from pantrace.normalise.secrets import Redactor
from pantrace.store import Result, RunDirectory, column_value, query
from pantrace.wire.markdown_text import as_text
from pantrace.wire.xml_text import xml_text

from .all_scores import all_scores
from .decided_words import verdict_words
from .denominator import denominator_words
from .estimate_words import estimate_words
from .reduce import total_words
from .reliability import reliability_words
from .summary import EvalSummary, MetricSummary


def as_junit(out: Path, summary: EvalSummary | None = None, gate: str = "", gate_passed: bool | None = None) -> bytes:
    """One test case for each decision (of the summary's profiles): failed, skipped if it could not be decided, or
    passed. Its counts are samples; with a `summary`, the share of cases that a gate uses is added as properties, and
    with the sentence of a `gate`, its result as a test case of its own: a gate may pass although some samples failed,
    and not pass although none did."""
    rows = [
        row
        for row in query(
            out, "select profile, sample, epoch, passed, reasons from decisions order by profile, sample, epoch"
        ).rows
        if summary is None or row[0] in summary.profiles
    ]
    # CI systems publish reports, and reasons can quote secrets from a recording.
    rows = Redactor().value([[*row[:4], column_value(row[4], list[str])] for row in rows])
    root = ElementTree.Element("testsuites", name="pantrace eval")
    suites: dict[str, ElementTree.Element] = {}
    counts: dict[str, list[int]] = {}
    for profile, sample, epoch, passed, reasons in rows:
        if profile not in suites:
            suites[profile] = ElementTree.SubElement(root, "testsuite", name=xml_text(profile))
            _add_rate(suites[profile], profile, summary, gate)
        suite = suites[profile]
        count = counts.setdefault(profile, [0, 0, 0])
        count[0] += 1
        name = sample if epoch is None else f"{sample} (epoch {epoch})"
        case = ElementTree.SubElement(suite, "testcase", classname=xml_text(profile), name=xml_text(name))
        if passed is not True:
            count[1 if passed is False else 2] += 1
            kind = "failure" if passed is False else "skipped"
            ElementTree.SubElement(case, kind, message=xml_text("; ".join(reasons)))
    for profile, suite in suites.items():
        tests, failures, skipped = counts[profile]
        suite.set("tests", str(tests))
        suite.set("failures", str(failures))
        suite.set("errors", "0")
        suite.set("skipped", str(skipped))
    if gate:
        _add_gate(root, gate, gate_passed)
    for kind in ("tests", "failures", "errors", "skipped"):
        root.set(kind, str(sum(int(suite.get(kind, "0")) for suite in root)))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_gate(root: ElementTree.Element, gate: str, passed: bool | None) -> None:
    """A suite that is red unless the gate passed: most CI systems show what was skipped as green."""
    wrong = {True: None, False: "failure", None: "error"}[passed]
    suite = ElementTree.SubElement(root, "testsuite", name="gate", tests="1")
    suite.set("failures", str(int(wrong == "failure")))
    suite.set("errors", str(int(wrong == "error")))
    suite.set("skipped", "0")
    name = "; ".join(line.partition("): ")[0] + ")" for line in gate.splitlines())
    case = ElementTree.SubElement(suite, "testcase", classname="gate", name=xml_text(name))
    if wrong is not None:
        ElementTree.SubElement(case, wrong, message=xml_text(Redactor().text(gate)[0]))


def _add_rate(suite: ElementTree.Element, profile: str, summary: EvalSummary | None, gate: str) -> None:
    """Add the share of cases, which cannot be counted from the test cases if a case was repeated."""
    for each in summary.decisions if summary is not None else ():
        if each.profile == profile:
            properties = ElementTree.SubElement(suite, "properties")
            values = {"cases": str(each.cases), "pass_rate": repr(each.pass_rate), "decisions": verdict_words(each)}
            values |= {"gate": Redactor().text(gate)[0]} if gate else {}
            for name, value in values.items():
                ElementTree.SubElement(properties, "property", name=name, value=xml_text(value))


class DecidedSample(Record, frozen=True, kw_only=True):
    """How one sample was decided, and why."""

    sample: str
    epoch: int | None = None
    case: str | None = None
    profile: str
    passed: bool | None
    """None: could not decide."""
    composite: float | None = None
    reasons: tuple[str, ...] = ()


def decided_samples(
    out: Path,
    profiles: Collection[str] | None = None,
    *,
    passed: Sequence[bool | None] = (False, None, True),
    limit: int | None = None,
) -> list[DecidedSample]:
    """Decisions, failures first, then those that could not be decided; only of these profiles, with these outcomes, and
    at most `limit`."""
    # In SQL, so that a run of a million samples does not have to be sorted in Python for its first ten failures.
    wanted = ["false" if each is False else "true" if each else "null" for each in passed]
    question = f"""
    select d.sample, d.epoch, x.case_id, d.profile, d.passed, d.composite, d.reasons
    from decisions d join samples x using (run, part, number)
    where coalesce(d.passed::varchar, 'null') in ({", ".join(f"'{each}'" for each in wanted)})
    {"" if profiles is None else f"and d.profile in ({', '.join(map(_quoted, profiles)) or 'null'})"}
    order by d.profile, case when d.passed then 2 when d.passed is null then 1 else 0 end, d.sample, d.epoch
    {"" if limit is None else f"limit {limit}"}
    """
    return [
        DecidedSample(
            sample=sample,
            epoch=epoch,
            case=case,
            profile=name,
            passed=went,
            composite=composite,
            reasons=tuple(column_value(reasons, list[str])),
        )
        for sample, epoch, case, name, went, composite, reasons in query(out, question).rows
    ]


def _quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def as_markdown(summary: EvalSummary, title: str, decided: Sequence[DecidedSample] = (), gate: str = "") -> str:
    """The summary as a page for a pull request; with `decided`, each sample's decision and reasons; with the sentence
    of a `gate`, its result."""
    # The page is published, and reasons can quote secrets from a recording.
    redactor = Redactor()
    summary, decided = redactor.record(summary)[0], redactor.value(list(decided))
    verdict = [line for told in gate.splitlines() for line in (f"**{as_text(redactor.text(told)[0])}**", "")]
    lines = [f"# {as_text(redactor.text(title)[0])}", "", *verdict, f"{denominator_words(summary.denominator)}.", ""]
    if summary.decisions:
        lines += ["## Decisions", "", "| profile | passed | failed | undecided | pass rate |", "|---|---|---|---|---|"]
        for each in summary.decisions:
            lines.append(
                f"| {as_text(each.profile)} | {each.passed} | {each.failed} | {each.undecided} "
                f"| {estimate_words(each.rate, 'share')} |"
            )
        reasons = [(reason, count) for each in summary.decisions for reason, count in each.reasons]
        if reasons:
            lines += ["", "Most frequent reasons:", ""]
            lines += [
                f"- {count} × {as_text(reason)}" for reason, count in sorted(reasons, key=lambda item: -item[1])[:8]
            ]
        lines += [f"\nRepeats, {as_text(name)}: {words}" for name, words in repeats(summary)]
        lines.append("")
    if decided:
        lines += ["## Samples", "", "| sample | profile | decision | why |", "|---|---|---|---|"]
        lines += [_decided_row(each) for each in decided]
        lines.append("")
    lines += ["## Metrics", "", *_table(summary.metrics)]
    if summary.groups:
        lines += ["", "## By group", "", *_table(summary.groups)]
    foot = (
        "The value is the mean over cases, repeats averaged within the case; `together` is the value over all samples: "
        "a ratio of sums (pooled) or a sum. Intervals are 95 %: Wilson for shares of yes, over cases if these were "
        "repeated, t for other means, cut off at the ends of the scale. Missing values are left out and counted."
    )
    lines += ["", foot]
    return "\n".join(lines) + "\n"


def _decided_row(each: DecidedSample) -> str:
    word = {True: "passed", False: "failed", None: "undecided"}[each.passed]
    name = each.sample if each.epoch is None else f"{each.sample} (epoch {each.epoch})"
    return f"| {as_text(name)} | {as_text(each.profile)} | {word} | {as_text('; '.join(each.reasons))} |"


def repeats(summary: EvalSummary) -> list[tuple[str, str]]:
    """pass^k and pass@k of the decisions and of each headline measure that is yes or no, if cases were repeated."""
    decided = [(each.profile, each.reliability) for each in summary.decisions]
    measured = [(each.metric, each.reliability) for each in summary.metrics if each.headline]
    return [(name, reliability_words(found)) for name, found in (*decided, *measured) if found is not None]


def write_explain_report(out: Path, target: Path, profiles: Collection[str] | None = None) -> None:
    """A run directory as the report of the Explain policy: the evals of each case, its composite, pass and reasons.
    Secrets are removed, because reports are passed on."""
    from .convert import write_run

    options, redactor = {"kind": "report"}, Redactor()
    run = decided_run(out, profiles)
    clean = with_samples(redactor.record(header_of(run))[0], (redactor.sample(each)[0] for each in run.samples))
    write_run(clean, target, to="explain", options=options, measure=False)


def decided_run(out: Path, profiles: Collection[str] | None = None) -> Run:
    """The samples of a run directory with their evals and, as a score named composite, their decision."""
    directory = RunDirectory.open(out)
    return with_samples(directory.header, (_decided(each, profiles) for each in directory.results()))


def _decided(result: Result, profiles: Collection[str] | None) -> Sample:
    sample = result.sample
    required = (sample.case.required_evals or ()) if sample.case is not None else ()
    # The report has room for one decision: the last one, which is that of the latest gate.
    found = [each for each in result.decisions if profiles is None or each.profile in profiles][-1:]
    composite = [_composite(each) for each in found]
    scores = [score for score in all_scores(sample, result.scores) if not composite or score.name != "composite"]
    evals = [score for score in scores if _kind(score) != "check" or score.name in required]
    return msgspec.structs.replace(sample, scores=(*composite, *evals))


def _kind(score: Score) -> str:
    return score.maker.kind if score.maker is not None else "stored"


def _composite(decision: Decision) -> Score:
    return Score(
        name="composite",
        value=decision.composite,
        status="scored" if decision.composite is not None else "unscored",
        explanation="; ".join(decision.reasons) or None,
        passed=decision.passed,
        maker=Maker(name=decision.profile),
    )


def _table(metrics: tuple[MetricSummary, ...]) -> list[str]:
    grouped = any(each.group for each in metrics)
    head = (["group"] if grouped else []) + ["metric", "maker", "value", "together", "scored", "n/a", "unscored"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for each in metrics:
        cells = ([each.group or ""] if grouped else []) + [
            each.metric,
            each.maker or "",
            estimate_words(each.estimate, each.unit, scored=each.scored),
            total_words(each.together, each.unit),
            str(each.scored),
            str(each.not_applicable),
            str(each.unscored),
        ]
        lines.append(f"| {' | '.join(as_text(cell) for cell in cells)} |")
    return lines
