"""Templates that would run for ever or fill the memory are refused before anything is rendered."""

from __future__ import annotations

import pytest

from pantrace.errors import UsageError
from pantrace.judges.prompt import render_trial, variables

ENDLESS = [
    "{{ 'a' * 10000000000 }}{{ x }}",
    "{{ 9 ** 999999999 }}{{ x }}",
    "{{ '%9999999999d' % 1 }}{{ x }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{{ x }}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{{ x }}{% endfor %}",
    "{% for a in x %}{% for b in x %}{{ a }}{% endfor %}{% endfor %}",
    "{% set a = x ~ x %}{% set a = a ~ a %}{{ a }}",
    "{% macro m(a) %}{{ m(a) }}{% endmacro %}{{ m(x) }}",
    "{{ x | center(1000000000) }}",
    "{{ x.ljust(1000000000) }}",
    "{{ x | join(x) }}",
    "{{ x.replace('a', x) }}",
    "{{ x | truncate(99999999) }}",
    "{{ lipsum(1000000) }}{{ x }}",
    "{% for a in x recursive %}{{ loop(x) }}{% endfor %}",
]


@pytest.mark.parametrize("template", ENDLESS)
def test_what_could_grow_without_an_end_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match=r"mine\.toml: the template is not right: line 1: .*(not allowed|takes only)"):
        variables(template, "mine.toml")


@pytest.mark.parametrize(
    "template",
    [
        "{% if x %}{{ x | trim | truncate(200) }}{% else %}none{% endif %}",
        "{% for line in x.splitlines() %}- {{ line | upper }}\n{% endfor %}",
        "{{ x | length }} of {{ (x ~ 'b') | default('none') }}, {{ x | join(', ') }}, {{ 'a' if x else 'b' }}",
    ],
)
def test_what_rubrics_need_is_allowed(template: str) -> None:
    assert variables(template, "mine.toml") == {"x"}
    render_trial({"x": "required"}, template, "mine.toml")
