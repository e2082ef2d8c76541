"""Secrets: what must be left alone first, then what must go. The secrets are made up."""

from __future__ import annotations

import pytest

from pantrace.model import Media, Sample, Step, Text, ToolCall, Trajectory
from pantrace.normalise.secrets import Redactor

RANDOM = "Zx9Kq2Lm7Pv4Rt8Wb3Nc6Hd1Jf5Gs0Ya"

INNOCENT = [
    "The password is stored in the vault.",
    "Use the API key from the settings page.",
    "commit 84f755fd625a6d30602a1275b0e8fe615ebe8f7c",
    "https://example.org/path?q=1",
    "sk-learn is a library",
    "ses_e1f901162ffesXODlT1I2RwJdD",
    "postgres://localhost:5432/db",
    "write to team@example.org",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "clean", "kind"),
    [
        (f"key sk-{RANDOM} here", "key [redacted:openai-key] here", "openai-key"),
        (f"sk-ant-api03-{RANDOM}", "[redacted:anthropic-key]", "anthropic-key"),
        (f"AIza{RANDOM}abc", "[redacted:google-key]", "google-key"),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted:aws-key]", "aws-key"),
        (f"ghp_{RANDOM}abcd", "[redacted:github-token]", "github-token"),
        (
            "postgres://app:hunter22@db.local/x",
            "postgres://app:[redacted:connection-password]@db.local/x",
            "connection-password",
        ),
        (f"Authorization: Bearer {RANDOM}", "Authorization: Bearer [redacted:bearer-token]", "bearer-token"),
        ("DB_PASSWORD=hunter22\nnext", "DB_PASSWORD=[redacted:password]\nnext", "password"),
        ('{"api_key": "hunter22222"}', '{"api_key": "[redacted:password]"}', "password"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----.",
            "[redacted:private-key].",
            "private-key",
        ),
        ("-----BEGIN PRIVATE KEY-----\nabc cut off", "[redacted:private-key]", "private-key"),
    ],
)
def test_secrets_are_replaced_by_their_kind(text: str, clean: str, kind: str) -> None:
    assert Redactor().text(text) == (clean, {kind: 1})
    assert Redactor().text(clean)[0] == clean


def test_e_mail_addresses_and_own_shapes_on_request() -> None:
    assert Redactor(emails=True).text("to a.b@example.org!")[0] == "to [redacted:e-mail]!"
    assert Redactor(more={"ticket": r"T-\d+"}).text("see T-123")[0] == "see [redacted:ticket]"


def test_every_place_of_a_sample_is_searched_and_named() -> None:
    sample = Sample(
        id="x",
        trajectory=Trajectory(
            steps=(
                Step(role="user", parts=(Text(text=f"use sk-{RANDOM} and sk-{RANDOM}"),)),
                Step(role="agent", parts=(ToolCall(name="login", arguments={"password": "hunter2", "user": "ann"}),)),
                Step(role="agent", parts=(Media(data=f"sk-{RANDOM}"),), extra={"other": {"env": {"TOKEN": "none"}}}),
            )
        ),
    )
    clean, found = Redactor().sample(sample)
    assert [(each.path, each.kind, each.count) for each in found] == [
        ("trajectory.steps[0].parts[0].text", "openai-key", 2),
        ("trajectory.steps[1].parts[0].arguments.password", "password", 1),
    ]
    assert clean.trajectory is not None
    assert clean.trajectory.steps[1].parts[0] == ToolCall(
        name="login", arguments={"password": "[redacted:password]", "user": "ann"}
    )
    assert Redactor().sample(clean) == (clean, [])
