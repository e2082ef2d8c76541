"""URLs and patterns in them; keys that would lead out of the cache."""

from __future__ import annotations

import pytest

from pantrace.errors import ReadError, UsageError
from pantrace.places.cache import below
from pantrace.places.patterns import expression
from pantrace.places.url import Url, is_url, parse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s3://b/runs/", Url("s3", "b", "runs")),
        ("S3://b", Url("s3", "b", "")),
        ("gs://b/a/b.eval", Url("gs", "b", "a/b.eval")),
        ("az://container/x", Url("az", "container", "x")),
    ],
)
def test_a_url_has_a_bucket_and_a_key(text: str, found: Url) -> None:
    assert parse(text) == found
    assert str(found) == text.rstrip("/").lower()


@pytest.mark.parametrize("text", ["runs/", "/s3/b", "s3:/b", "C:\\runs", "a b://"])
def test_a_path_is_no_url(text: str) -> None:
    assert not is_url(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("s33://b/x", "did you mean s3://"),
        ("ftp://b/x", "known: s3://, gs://, az://"),
        ("http://b/x", "download it"),
        ("file:///x", "name the path itself"),
        ("s3:///x", "names no bucket"),
    ],
)
def test_another_scheme_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse(text)


@pytest.mark.parametrize(
    "key", ["runs/../../etc/passwd", "runs/a//b", "runs/./a", "runs/a\0b", "runs/..\\..\\x", "runs"]
)
def test_a_key_that_is_no_file_name_is_refused(key: str) -> None:
    with pytest.raises(ReadError, match="its key cannot be a file name"):
        below(Url("s3", "b", "runs"), key)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.jsonl", ["a.jsonl", ".jsonl"], ["a/b.jsonl", "a.jsonl.zst"]),
        ("**/*.jsonl", ["a.jsonl", "a/b.jsonl", "a/b/c.jsonl"], ["a.json"]),
        ("a/**", ["a/b", "a/b/c"], ["b/a"]),
        ("run-[0-9]?", ["run-1x"], ["run-x1", "run-1/", "run-1"]),
        ("[!a]b", ["bb"], ["ab", "/b"]),
        ("a.b+c(1)", ["a.b+c(1)"], ["aXb+c(1)"]),
    ],
)
def test_patterns_mean_what_they_mean_to_a_shell(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [name for name in (*yes, *no) if expression(pattern).fullmatch(name)] == yes
