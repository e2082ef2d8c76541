"""Secrets: what must be left alone first, then what must go. The secrets are made up."""

from __future__ import annotations

import json
import random
from base64 import b64encode, encodebytes
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pantrace.model import Media, Run, RunHeader, Sample, Step, Text, ToolCall, Trajectory, Usage
from pantrace.normalise.secrets import Redactor, Replacement
from pantrace.normalise.secrets.tokens import FORMS

RANDOM = "Zx9Kq2Lm7Pv4Rt8Wb3Nc6Hd1Jf5Gs0Ya"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 3
GITHUB = f"ghp_{RANDOM}abcd"

INNOCENT = [
    "The password is stored in the vault.",
    "Use the API key from the settings page.",
    "password: required",
    "Password: required.",
    "token usage: 500",
    "tokens: 1500, total_tokens=2300, max_tokens: 4096",
    "commit 84f755fd625a6d30602a1275b0e8fe615ebe8f7c",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    "https://example.org/path?q=1",
    "https://x.y/callback?code=abc&state=1",
    "http://host:8080/@scope/pkg",
    "git@github.com:org/repo.git",
    "sk-learn is a library",
    "sk-estimator-doc-link-wrapper1 sk-container-id-1",
    f"xK3v-Pq9_bGhp-{GITHUB}",
    "my-sk-container-id-1 the_fw_update",
    "ses_e1f901162ffesXODlT1I2RwJdD",
    "postgres://localhost:5432/db",
    "write to team@example.org",
    # Code that handles secrets holds none.
    "password: str = None",
    "password=password",
    "password = getpass.getpass()",
    "api_key = os.environ['OPENAI_API_KEY']",
    "token = tokens[0]; self.token = token",
    "const token = await fetchToken()",
    "if '-----BEGIN PRIVATE KEY-----' in text:",
    # Code that names where a secret lies, and prompts for one.
    'OPENAI_API_KEY = "OPENAI_API_KEY"\napi_key_env="TOGETHER_API_KEY"',
    "def unix_getpass(prompt='Password: ', stream=None):",
    "https://username:password@host.com:80/path",
    'OAUTH_API_KEY = "oauth-placeholder"',
    "docker run -u 1000:1000. And curl.",
    '<add key="Theme" value="abc123def456ghi789" />',
    "kind: ConfigMap\ndata:\n  level: abc123def456ghi789\n",
    # Seen in the source of other projects: names of types, of variables and of public things.
    '    "password": "unreserved", "reserved": 1',
    'name="Microsoft.VC90.CRT" publicKeyToken="1fc8b3b9a1e18e3b"',
    "host, port, access_key, secret_key = s3_connection",
    "_, _, fs, uri, access_key, secret_key = s3_example_simple",
    "    'MINIO_SECRET_KEY': secret_key\n",
    "    :type passphrase: :py:data:`bytes`",
    'AttributeOID.CHALLENGE_PASSWORD: "challengePassword",',
    'def _sign(backend: "Backend", private_key: "_DSAPrivateKey", data: bytes)',
    "f'machine {host} login {self.username} password {self.password}'",
    '_SK_START = b"-----BEGIN OPENSSH PRIVATE KEY-----"\n_SK_END = b"-----END OPENSSH PRIVATE KEY-----"',
    "+MaHP8Al3gAABeP/f2/b/8AxHIAABX///9/AP8AU24AAMYq1sqy1v8AdL8AAI5E46bO4/8Aq8MAAL6Zm",
    'LANGFUSE_SECRET_KEY="sk-none"',
    # Places that are kept for a secret, and names that only look like one's.
    "password: ${DB_PASSWORD} or <your password> or ********",
    "DB_PASSWORD=$DB_PASSWORD",
    "Authorization: Bearer ${TOKEN}",
    "Bearer authentication is required; a basic understanding is enough",
    f"sk-{'x' * 40} AKIA{'X' * 16} ghp_{'x' * 36}",
    "PWD=/home/ann/work OLDPWD=/tmp/x2y3z4",
    "private_key: /etc/ssl/private/key.pem",
    "nextPageToken: abc123def456ghi789",
    "cache_key: abc123def456ghi789 public_key: abc123def456ghi789",
    "token: gpt-4o-mini-2024-07-18",
    "docker run -u 1000:1000 curl",
    "the --password option and the --token flag",
    "API key: see the settings",
    "connect(\n  user=me,\n  password=settings_password\n)",
    "login(password=pw, secret=mysecret) and secret=mysecret",
    "API_KEY: required\nDB_PASSWORD: ${DB_PASSWORD}\n",
    '{"authorization": "OAuth 2.0", "cookie": "chocolate chip; 12 pieces"}',
    "assertIn('Password:', stderr.getvalue2())",
    "auth_token_expiry: 2024-05-01T10:00:00Z",
    '{"token": "Hello", "logprob": -0.1}',
    '{"password": {"type": "string"}, "secret": true, "tokens": 5, "token": null}',
    '{"password": "The password of the user, at least 8 characters"}',
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == (text, {})


def test_opaque_bytes_are_left_alone_wherever_they_stand() -> None:
    """Thought signatures, pictures, ciphertext: base64 of anything but text."""
    dice = random.Random(3)
    for size in (32, 200, 3_000, 60_000):
        opaque = b64encode(dice.randbytes(size)).decode()
        for text in (opaque, opaque.replace("+", "-").replace("/", "_").rstrip("=")):
            value = {"signature": text, "thought_signature": text, "data": text, "note": f"seen {text} here"}
            assert Redactor().value(value) == value


FOUND = [
    # By their form.
    (f"key sk-{RANDOM} here", "key [redacted:openai-key] here", "openai-key"),
    (f"sk-proj-{RANDOM}-{RANDOM}", "[redacted:openai-key]", "openai-key"),
    (f"sk-ant-api03-{RANDOM}", "[redacted:anthropic-key]", "anthropic-key"),
    (f"AIza{RANDOM}abc.", "[redacted:google-key].", "google-key"),
    ("AKIAABCDEFGHIJKLMNOP", "[redacted:aws-key]", "aws-key"),
    (GITHUB, "[redacted:github-token]", "github-token"),
    # Behind words of a name; in the middle of base64 a prefix of four letters says nothing.
    (f"sample7-{GITHUB}", "sample7-[redacted:github-token]", "github-token"),
    (
        f"https://x.org/api/v1/Runs/a2/hf_{RANDOM}",
        "https://x.org/api/v1/Runs/a2/[redacted:huggingface-token]",
        "huggingface-token",
    ),
    ('private_key: "_RSA9PrivateKey1x"', 'private_key: "[redacted:password]"', "password"),
    (f"MY_KEY_hf_{RANDOM}", "MY_KEY_[redacted:huggingface-token]", "huggingface-token"),
    (f"SG.{RANDOM[:22]}.{RANDOM}{RANDOM[:11]}", "[redacted:sendgrid-key]", "sendgrid-key"),
    (f"123456789:AA{RANDOM}a", "[redacted:telegram-token]", "telegram-token"),
    ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "[redacted:discord-token]", "discord-token"),
    (f"x8Q8Q~{RANDOM}", "[redacted:azure-secret]", "azure-secret"),
    (f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{RANDOM}", "[redacted:jwt]", "jwt"),
    (
        "https://hooks.slack.com/services/T01ABCDEF/B01ABCDEF/abcdefGHIJKL123456789012",
        "https://hooks.slack.com/services/[redacted:slack-webhook]",
        "slack-webhook",
    ),
    (
        f"https://discord.com/api/webhooks/123456789012345678/{RANDOM}{RANDOM}",
        "https://discord.com/api/webhooks/[redacted:discord-webhook]",
        "discord-webhook",
    ),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----.",
        "[redacted:private-key].",
        "private-key",
    ),
    ("-----BEGIN PRIVATE KEY-----\nabc cut off", "[redacted:private-key]", "private-key"),
    (
        'k = "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----"',
        'k = "[redacted:private-key]"',
        "private-key",
    ),
    # Behind letters that are not theirs: an escape, an encoded =, a colour.
    (f"b'line\\n{GITHUB}\\n'", "b'line\\n[redacted:github-token]\\n'", "github-token"),
    (f"token%3D{GITHUB}", "token%3D[redacted:github-token]", "github-token"),
    (f"\x1b[32m{GITHUB}\x1b[0m", "\x1b[32m[redacted:github-token]\x1b[0m", "github-token"),
    # In addresses and headers.
    (
        "postgres://app:hunter22@db.local/x",
        "postgres://app:[redacted:connection-password]@db.local/x",
        "connection-password",
    ),
    ("mysql://root:p@ss!@h:3306/x", "mysql://root:[redacted:connection-password]@h:3306/x", "connection-password"),
    ("redis://:s3cr3t@h:6379/0", "redis://:[redacted:connection-password]@h:6379/0", "connection-password"),
    ("mongodb+srv://u:pa/ss1@h", "mongodb+srv://u:[redacted:connection-password]@h", "connection-password"),
    (f"Authorization: Bearer {RANDOM}", "Authorization: Bearer [redacted:bearer-token]", "bearer-token"),
    ("Authorization: Basic dXNlcjpwdw==", "Authorization: Basic [redacted:basic-login]", "basic-login"),
    (f"authorization: token {HEX[:40]}", "authorization: token [redacted:authorization]", "authorization"),
    (f"X-Api-Key: {RANDOM}", "X-Api-Key: [redacted:password]", "password"),
    (f"https://x/y?access_token={RANDOM}&a=1", "https://x/y?access_token=[redacted:password]&a=1", "password"),
    (f"https://x/y?sv=2&sig={RANDOM}%3D", "https://x/y?sv=2&sig=[redacted:password]", "password"),
    ("https://x/y?user=a&password=swordfish&z", "https://x/y?user=a&password=[redacted:password]&z", "password"),
    # By the name before them.
    ("DB_PASSWORD=hunter22\nnext", "DB_PASSWORD=[redacted:password]\nnext", "password"),
    ("export PGPASSWORD=swordfish; psql", "export PGPASSWORD=[redacted:password]; psql", "password"),
    (f"AWS_SECRET_ACCESS_KEY={RANDOM}/K7MDENG", "AWS_SECRET_ACCESS_KEY=[redacted:password]", "password"),
    (f"AccountName=x;AccountKey={RANDOM}==;End=y", "AccountName=x;AccountKey=[redacted:password];End=y", "password"),
    ("Server=x;Uid=sa;Pwd=hunter22;", "Server=x;Uid=sa;Pwd=[redacted:password];", "password"),
    (f"TWILIO_AUTH_TOKEN={HEX[:32]}", "TWILIO_AUTH_TOKEN=[redacted:password]", "password"),
    ('{"api_key": "hunter22222"}', '{"api_key": "[redacted:password]"}', "password"),
    ('connect(password="swordfish")', 'connect(password="[redacted:password]")', "password"),
    ("{'password': 'hun\\'ter22'}", "{'password': '[redacted:password]'}", "password"),
    ("password: hunter22.", "password: [redacted:password].", "password"),
    ("The API key: hunter22abc.", "The API key: [redacted:password].", "password"),
    ('["tool", "--password", "swordfish", "-x"]', '["tool", "--password", "[redacted:password]", "-x"]', "password"),
    ("tool --password hunter22 --x", "tool --password [redacted:password] --x", "password"),
    ("curl -u ann:hunter22 https://x", "curl -u ann:[redacted:password] https://x", "password"),
    ("mysql -u root -phunter22 db", "mysql -u root -p[redacted:password] db", "password"),
    ("machine h login ann password hunter22", "machine h login ann password [redacted:password]", "password"),
    ("<password>hunter22</password>", "<password>[redacted:password]</password>", "password"),
    ("log in with password=swordfish now", "log in with password=[redacted:password] now", "password"),
    ("env:\n  DB_PASSWORD: swordfish\n", "env:\n  DB_PASSWORD: [redacted:password]\n", "password"),
    ("ALTER USER a WITH PASSWORD 'swordfish';", "ALTER USER a WITH PASSWORD '[redacted:password]';", "password"),
    (f"Cookie: a=1; session={RANDOM}", "Cookie: [redacted:cookie]", "cookie"),
    (f'{{"Cookie": "a=1; session={RANDOM}"}}', '{"Cookie": "[redacted:password]"}', "password"),
    ('{"Authorization": "Bearer swordfish"}', '{"Authorization": "[redacted:password]"}', "password"),
    (f"https://x/y?a=1&amp;sig={RANDOM}", "https://x/y?a=1&amp;sig=[redacted:password]", "password"),
    (
        "kind: Secret\ndata:\n  db: aHVudGVyMjIyMjIy\n  empty: none\n",
        "kind: Secret\ndata:\n  db: [redacted:kubernetes-secret]\n  empty: none\n",
        "kubernetes-secret",
    ),
    ('<add key="Pwd" value="hunter22" />', '<add key="Pwd" value="[redacted:password]" />', "password"),
    (f"https://{HEX[:40]}@h/a.git", "https://[redacted:connection-password]@h/a.git", "connection-password"),
    (f"ADAFRUIT_IO_KEY={RANDOM}", "ADAFRUIT_IO_KEY=[redacted:password]", "password"),
    ('{"headers": [["password", "hunter22"]]}', '{"headers": [["password", "[redacted:password]"]]}', "password"),
    # In JSON, as deep as it goes; spaces, numbers and escapes stay as they were.
    (
        '{\n "a" : "{\\"password\\": \\"hunter22\\"}", "n": 1.00, "u": "\\u00e9\\/"}',
        '{\n "a" : "{\\"password\\": \\"[redacted:password]\\"}", "n": 1.00, "u": "\\u00e9\\/"}',
        "password",
    ),
    (f'{{"{GITHUB}": 1}}', '{"[redacted:github-token]": 1}', "github-token"),
    (f'said {{"a": "\\u0067hp_{GITHUB[4:]}"}}', 'said {"a": "[redacted:github-token]"}', "github-token"),
    ('{"password": 12345678, "n": NaN}', '{"password": "[redacted:password]", "n": NaN}', "password"),
    (
        '{"password": "hunter22", "password": ""}',
        '{"password":"","password (duplicate 1)":"[redacted:password]"}',
        "password",
    ),
    ('{"name": "DB_PASSWORD", "value": "x1"}', '{"name": "DB_PASSWORD", "value": "[redacted:password]"}', "password"),
    (f'{{"headers": [["X-Api-Key", "{RANDOM}"]]}}', '{"headers": [["X-Api-Key", "[redacted:password]"]]}', "password"),
]


@pytest.mark.parametrize(("text", "clean", "kind"), FOUND)
def test_secrets_are_replaced_by_their_kind(text: str, clean: str, kind: str) -> None:
    assert Redactor().text(text) == (clean, {kind: 1})
    assert Redactor().text(clean) == (clean, {})


LETTERS = {"hex": "0123456789abcdef", "HEX": "0123456789abcdefABCDEF", "UPPER": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.kind} {form.prefixes[0]}")
def test_every_known_form_is_found_with_all_of_its_letters(form: Any) -> None:
    dice = random.Random(7)
    for prefix in form.prefixes:
        body = "".join(dice.choice(LETTERS.get(form.alphabet, RANDOM)) for _ in range(form.least))
        assert Redactor().text(f"use {prefix}{body}, now") == (f"use [redacted:{form.kind}], now", {form.kind: 1})
        assert Redactor().text(f"use {prefix}{body[:6]}, now")[1] == {}


def test_an_id_and_its_secret_side_by_side() -> None:
    clean, counts = Redactor().text("AKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    assert (clean, counts) == ("[redacted:aws-key],[redacted:aws-secret]", {"aws-key": 1, "aws-secret": 1})


def _decoded(text: str) -> str:
    from base64 import b64decode

    return b64decode(text).decode()


def test_base64_is_opened_cleaned_and_closed_again() -> None:
    plain = "A=1\n" * 30 + "API_KEY=hunter22222\n" + "B=2\n" * 20
    want = plain.replace("hunter22222", "[redacted:password]")
    one_line = b64encode(plain.encode()).decode()
    assert _decoded(Redactor().text(one_line)[0]) == want
    wrapped = encodebytes(plain.encode()).decode()
    clean, counts = Redactor().text(f"$ base64 .env\n{wrapped}$")
    assert counts == {"password": 1}
    body = clean.removeprefix("$ base64 .env\n").removesuffix("$")
    assert _decoded(body) == want
    assert {len(line) for line in body.splitlines()[:-1]} == {76}
    # PowerShell's -EncodedCommand, base64 in base64, and the alphabet of addresses without padding.
    assert Redactor().text(b64encode("$env:PASSWORD='hunter22'".encode("utf-16-le")).decode())[1] == {"password": 1}
    assert Redactor().text(b64encode(one_line.encode()).decode())[1] == {"password": 1}
    address = (
        b64encode(b'{"password": "hunter22", "x": "???>>>"}').decode().rstrip("=").replace("/", "_").replace("+", "-")
    )
    clean = Redactor().text(f"state={address}")[0].removeprefix("state=")
    assert not set("=+/") & set(clean)
    assert json.loads(_decoded(clean.replace("_", "/").replace("-", "+") + "==")) == {
        "password": "[redacted:password]",
        "x": "???>>>",
    }


def test_a_code_deep_inside_others() -> None:
    text = "password=hunter22"
    for _ in range(4):
        text = json.dumps({"inner": b64encode(text.encode()).decode()})
    clean, counts = Redactor().text(text)
    assert counts == {"password": 1}
    for _ in range(4):
        clean = _decoded(json.loads(clean)["inner"])
    assert clean == "password=[redacted:password]"
    nested: Any = {"password": "hunter22"}
    for _ in range(400):
        nested = {"deeper": nested}
    assert "hunter22" not in json.dumps(Redactor().value(nested))
    assert "hunter22" not in Redactor().text(json.dumps(nested))[0]


def test_a_private_key_line_by_line() -> None:
    lines = [
        "$ cat key",
        "-----BEGIN PRIVATE KEY-----\n",
        "MIIEvQIBADAN\n",
        "abc\n",
        "-----END PRIVATE KEY-----\n",
        "$",
    ]
    clean = Redactor().value({"lines": lines})["lines"]
    assert (clean[0], clean[-1]) == ("$ cat key", "$")
    assert clean[2:5] == ["[redacted:private-key]"] * 3


def test_e_mail_addresses_and_own_shapes_on_request() -> None:
    assert Redactor(emails=True).text("to a.b@example.org!")[0] == "to [redacted:e-mail]!"
    assert Redactor(more={"ticket": r"T-\d+"}).text("see T-123")[0] == "see [redacted:ticket]"
    assert Redactor(more={"ticket": r"T-(?P<secret>\d+)"}).text("see T-123")[0] == "see T-[redacted:ticket]"
    assert Redactor(more={"nothing": "x*"}).text("abc") == ("abc", {})


def test_a_key_of_this_process_is_found_whatever_it_looks_like() -> None:
    redactor = Redactor(known=["open/sesame", "abc"])
    assert redactor.text("it was open/sesame, or open%2Fsesame") == (
        "it was [redacted:configured-key], or [redacted:configured-key]",
        {"configured-key": 2},
    )
    assert redactor.text(b64encode(b"the word is open/sesame").decode())[1] == {"configured-key": 1}
    # Too short to be a key, and in every other word.
    assert redactor.text("abc") == ("abc", {})


def _sample() -> Sample:
    return Sample(
        id=f"run of {GITHUB}",
        trajectory=Trajectory(
            steps=(
                Step(role="user", parts=(Text(text=f"use sk-{RANDOM} and sk-{RANDOM}"),)),
                Step(role="agent", parts=(ToolCall(name="login", arguments={"password": "hunter2", "user": "ann"}),)),
                Step(role="agent", parts=(Media(data=f"sk-{RANDOM}"),), extra={"other": {"env": {"TOKEN": "none"}}}),
                Step(role="agent", extra={"other": {"signature": GITHUB, GITHUB: {"data": [GITHUB]}}}),
            ),
            usage={GITHUB: Usage(input=1), f"{GITHUB}e": Usage(input=2)},
        ),
    )


def test_every_place_of_a_sample_is_searched_and_named() -> None:
    clean, found = Redactor().sample(_sample())
    assert [(each.path, each.kind, each.count) for each in found] == [
        ("id", "github-token", 1),
        ("trajectory.steps[0].parts[0].text", "openai-key", 2),
        ("trajectory.steps[1].parts[0].arguments.password", "password", 1),
        ("trajectory.steps[2].parts[0].data", "openai-key", 1),
        ("trajectory.steps[3].extra.other.signature", "github-token", 1),
        ("trajectory.steps[3].extra.other.[key]", "github-token", 1),
        ("trajectory.steps[3].extra.other.[redacted:github-token].data[0]", "github-token", 1),
        ("trajectory.usage.[key]", "github-token", 1),
        ("trajectory.usage.[key]", "github-token", 1),
    ]
    assert {each.sample for each in found} == {"run of [redacted:github-token]"}
    assert clean.trajectory is not None
    assert clean.trajectory.steps[1].parts[0] == ToolCall(
        name="login", arguments={"password": "[redacted:password]", "user": "ann"}
    )
    # Two keys that become the same are still two.
    assert [each.input for each in (clean.trajectory.usage or {}).values()] == [1, 2]
    assert Redactor().sample(clean) == (clean, [])


def test_what_has_no_secret_stays_the_very_same_object() -> None:
    sample = Sample(id="s", trajectory=Trajectory(steps=(Step(role="user", parts=(Text(text="hello there"),)),)))
    assert Redactor().sample(sample)[0] is sample


def test_own_shapes_do_not_reach_the_fixed_words_of_the_model() -> None:
    sample = Sample(id="s", trajectory=Trajectory(steps=(Step(role="user", parts=(Text(text="a user"),)),)))
    clean, found = Redactor(more={"who": "user"}).sample(sample)
    assert clean.trajectory is not None
    assert clean.trajectory.steps[0].role == "user"
    assert [each.path for each in found] == ["trajectory.steps[0].parts[0].text"]


def test_the_header_of_a_run_is_searched_like_a_sample() -> None:
    header = RunHeader(name="r", config={"model_args": {"api_key": "hunter22"}}, environment={"HOME": "/home/ann"})
    clean, found = Redactor().record(header, "run")
    assert clean.config == {"model_args": {"api_key": "[redacted:password]"}}
    assert found == [Replacement(sample=None, path="run.config.model_args.api_key", kind="password", count=1)]
    assert isinstance(Redactor().record(Run())[0], Run)


FRAGMENTS = [
    *("password", "token", "key", "=", ":", " ", '"', "'", "\\", "{", "}", "[", "]", ",", ".", "/", "<", ">", "&", "?"),
    *("@", "sk-", "ghp_", f"{RANDOM}abcd", "hunter22", "eyJ", "://", "--", "%3D", "\n", "\\n", "\\u0067hp_", "a@b.cd"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "cGFzc3dvcmQ9aHVudGVyMjI=", "basic ", "Bearer "),
    *("AKIAIOSFODNN7EXAMPLE", "curl -u a:b", "Cookie: ", "open-sesame", "\ud800", "é", "\x00", "NaN", "1e999", "null"),
]
text_of_fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
documents = st.recursive(
    text_of_fragments | st.integers(0, 99_999) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text_of_fragments, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(text_of_fragments)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    redactor = Redactor(emails=True, known=["open-sesame"])
    clean = redactor.text(text)[0]
    assert redactor.text(clean) == (clean, {})


def _outline(value: Any) -> Any:
    if isinstance(value, dict):
        return ["object", *map(_outline, value.values())]
    return ["array", *map(_outline, value)] if isinstance(value, list) else None


@settings(max_examples=200)
@given(documents, st.sampled_from([None, 2]), st.booleans())
def test_json_stays_json_of_the_same_outline(value: Any, indent: int | None, escaped: bool) -> None:
    redactor = Redactor(emails=True, known=["open-sesame"])
    assert _outline(redactor.value(value)) == _outline(value)
    clean = redactor.text(json.dumps(value, indent=indent, ensure_ascii=escaped))[0]
    if isinstance(value, (dict, list)):
        assert _outline(json.loads(clean)) == _outline(value)
