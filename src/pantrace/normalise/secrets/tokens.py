"""Tokens: secrets that are recognised by their prefix.

The forms are facts from the issuers' documentation: a prefix, the letters that may follow, and how many. A token is
searched by its prefix, and the letters after it are read once, so that the time is linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

Span = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""

_ALPHABETS = {
    "hex": "0-9a-f",
    "HEX": "0-9a-fA-F",
    "UPPER": "A-Z0-9",
    "alnum": "A-Za-z0-9",
    "word": "A-Za-z0-9_",
    "url": "A-Za-z0-9_-",
    "dotted": "A-Za-z0-9_.-",
    "padded": "A-Za-z0-9_.=-",
    "base64": "A-Za-z0-9_+/=-",
}

_SHORT_RUN = 256
"""A run that is not a token is searched again after its prefix, unless it is longer than any token."""


class Form(msgspec.Struct, frozen=True):
    """How the tokens of one issuer look."""

    kind: str
    prefixes: tuple[str, ...]
    alphabet: str
    least: int
    """Minimum number of letters after the prefix."""
    most: int | None = None
    """Maximum; None: no limit."""
    unbroken: bool = False
    """Whether a long piece without - or _ is required, because ordinary names begin with the prefix, too."""


def _form(
    kind: str, prefixes: str, alphabet: str, least: int, most: int | None = None, *, unbroken: bool = False
) -> Form:
    return Form(kind, tuple(prefixes.split()), alphabet, least, most, unbroken)


FORMS = (
    _form("anthropic-key", "sk-ant-", "url", 16),
    _form("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", "url", 20),
    _form("openrouter-key", "sk-or-", "url", 20),
    _form("langfuse-key", "sk-lf-", "url", 20),
    _form("openai-key", "sk-", "url", 20, unbroken=True),
    _form("google-key", "AIza", "url", 35, 35),
    _form("google-oauth", "ya29.", "dotted", 20),
    _form("google-oauth", "GOCSPX-", "url", 20),
    _form("google-oauth", "1//0", "url", 20),
    _form("aws-key", "AKIA ASIA ABIA ACCA", "UPPER", 16, 16),
    _form("aws-key", "A3T", "UPPER", 17, 17),
    _form("adobe-secret", "p8e-", "alnum", 32, 32),
    _form("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "alnum", 36),
    _form("github-token", "github_pat_", "word", 22),
    _form("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- glimt- glffct-", "dotted", 20),
    _form(
        "slack-token", "xoxb- xoxp- xoxa- xoxo- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe.xoxp- xoxe.xoxb- xapp-", "url", 10
    ),
    _form("huggingface-token", "hf_", "alnum", 30),
    _form("huggingface-token", "api_org_", "alnum", 30),
    _form("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", "alnum", 10),
    _form("stripe-key", "whsec_", "base64", 24),
    _form("npm-token", "npm_", "alnum", 36, 36),
    _form("pypi-token", "pypi-", "url", 40),
    _form("twilio-key", "AC SK", "HEX", 32, 32),
    _form("mailgun-key", "key-", "hex", 32, 32),
    _form("brevo-key", "xkeysib- xsmtpsib-", "url", 64),
    _form("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "hex", 64, 64),
    _form("databricks-token", "dapi dkea dose dsapi", "hex", 32, 32),
    _form("square-token", "EAAA", "url", 60, 60),
    _form("square-token", "sq0atp- sq0csp- sq0idp-", "url", 22),
    _form("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", "HEX", 32, 32),
    _form("heroku-key", "HRKU-", "url", 36),
    _form("atlassian-token", "ATATT3 ATCTT3 ATBB", "base64", 24),
    _form("notion-token", "secret_", "alnum", 43, 43),
    _form("notion-token", "ntn_", "alnum", 40),
    _form("linear-token", "lin_api_ lin_oauth_", "alnum", 32),
    _form("figma-token", "figd_ figu_", "url", 36),
    _form("postman-key", "PMAK-", "url", 59, 59),
    _form("new-relic-key", "NRAK-", "UPPER", 27, 27),
    _form("grafana-token", "glsa_", "word", 41, 41),
    _form("grafana-token", "glc_", "base64", 32),
    _form("sentry-token", "sntrys_", "base64", 40),
    _form("sentry-token", "sntryu_", "hex", 64, 64),
    _form("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "dotted", 40),
    _form("vault-token", "hvs. hvb. hvr.", "url", 24),
    _form("pulumi-token", "pul-", "hex", 40, 40),
    _form("fly-token", "fm1_ fm1a_ fm1r_ fm2_ fo1_", "base64", 40),
    _form("supabase-key", "sbp_", "hex", 40, 40),
    _form("supabase-key", "sb_secret_", "url", 20),
    _form("planetscale-token", "pscale_pw_ pscale_tkn_ pscale_oauth_", "padded", 32),
    _form("netlify-token", "nfp_", "alnum", 36),
    _form("replicate-token", "r8_", "alnum", 37, 37),
    _form("groq-key", "gsk_", "alnum", 40),
    _form("perplexity-key", "pplx-", "alnum", 40),
    _form("xai-key", "xai-", "alnum", 60),
    _form("fireworks-key", "fw_", "alnum", 24, 24),
    _form("tavily-key", "tvly-", "url", 20),
    _form("langsmith-key", "lsv2_pt_ lsv2_sk_", "word", 40),
    _form("pinecone-key", "pcsk_", "word", 50),
    _form("docker-token", "dckr_pat_ dckr_oat_", "url", 20),
    _form("rubygems-key", "rubygems_", "hex", 48, 48),
    _form("tailscale-key", "tskey-", "url", 20),
    _form("sonar-token", "squ_ sqp_ sqa_", "hex", 40, 40),
    _form("circleci-token", "CCIPAT_ CCIPRJ_", "word", 40),
    _form("buildkite-token", "bkua_", "hex", 40, 40),
    _form("contentful-token", "CFPAT-", "url", 40),
    _form("typeform-token", "tfp_", "dotted", 40),
    _form("hubspot-token", "pat-na1- pat-na2- pat-eu1-", "url", 36, 36),
    _form("razorpay-key", "rzp_live_ rzp_test_", "alnum", 14, 14),
    _form("easypost-key", "EZAK EZTK", "alnum", 54, 54),
    _form("shippo-token", "shippo_live_ shippo_test_", "hex", 40, 40),
    _form("plaid-token", "access-sandbox- access-development- access-production-", "url", 36, 36),
    _form("onepassword-token", "ops_eyJ", "base64", 60),
    _form("alibaba-key", "LTAI", "alnum", 20, 20),
    _form("age-key", "AGE-SECRET-KEY-1", "UPPER", 58, 58),
    _form("artifactory-token", "AKCp", "alnum", 69, 69),
    _form("artifactory-token", "cmVmd", "alnum", 59, 59),
    _form("artifactory-token", " ".join(f"AP{digit}" for digit in "0123456789ABCDEF"), "alnum", 25, 120, unbroken=True),
    _form("aws-key", "ABSK", "base64", 109),
    _form("aws-key", "bedrock-api-key-", "base64", 40),
    _form("clickhouse-key", "4b1d", "alnum", 38, 38),
    _form("clojars-token", "CLOJARS_", "alnum", 60, 60),
    _form("defined-networking-token", "dnkey-", "url", 60),
    _form("dropbox-token", "sl.", "dotted", 100, unbroken=True),
    _form("duffel-token", "duffel_live_ duffel_test_", "base64", 40),
    _form("dynatrace-token", "dt0c01. dt0s01. dt0s16.", "dotted", 80),
    _form("endor-key", "endr+", "alnum", 16, 16),
    _form("facebook-token", "EAAC EAAM", "alnum", 100),
    _form("flutterwave-key", "FLWSECK_TEST- FLWSECK-", "url", 32),
    _form("flutterwave-key", "FLWSECK_TEST-", "alnum", 12, 12),
    _form("frameio-token", "fio-u-", "base64", 60),
    _form("freemius-key", "sk_", "alnum", 29, 29),
    _form("gitlab-token", "GR1348941 gloas- glrtr-", "dotted", 20),
    _form("gocardless-token", "live_ test_", "base64", 40, 40, unbroken=True),
    _form("grafana-token", "eyJrIjoi", "base64", 70),
    _form("infracost-key", "ico-", "alnum", 32, 32),
    _form("intra42-secret", "s-s4t2ud- s-s4t2af-", "hex", 64, 64),
    _form("lob-key", "live_pub_ test_pub_ live_ test_", "hex", 31, 35),
    _form("mapbox-token", "sk.eyJ", "dotted", 60),
    _form("new-relic-key", "NRJS-", "hex", 19, 19),
    _form("new-relic-key", "NRII- NRIQ-", "url", 32, 32),
    _form("nuget-key", "oy2", "alnum", 43, 43, unbroken=True),
    _form("nvidia-key", "nvapi-", "url", 60),
    _form("octopus-key", "API-", "UPPER", 26, 26),
    _form("openshift-token", "sha256~", "url", 43, 43),
    _form("prefect-token", "pnu_ pnb_", "alnum", 36, 36),
    _form("readme-key", "rdme_", "alnum", 70, 70),
    _form("scalingo-token", "tk-us- tk-eu-", "url", 48, 48),
    _form("settlemint-token", "sm_pat_ sm_aat_ sm_sat_", "alnum", 16, 16),
    _form("sourcegraph-token", "sgp_", "word", 40),
    _form("together-key", "tgp_v1_", "url", 40),
    _form("vault-token", "s.", "alnum", 24, 24, unbroken=True),
    _form("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", "alnum", 40),
    _form("volcengine-key", "AKLT", "alnum", 40),
    _form("wandb-key", "wandb_v1_", "word", 40),
    _form("yandex-key", "AQVN", "url", 35, 38),
    _form("yandex-key", "YC", "url", 38, 38, unbroken=True),
)

_ESCAPE = re.compile(r"(?:\\[nrtbf]|\\u00[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\x1b\[[0-9;]{0,8}m)\Z")
_RANDOM = re.compile(r"[0-9]|[A-Za-z]{12}")
_UNBROKEN = re.compile(r"(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{16}")
_WORDS = re.compile(r"(?<![A-Za-z0-9_-])(?:(?:[a-z]++|[A-Z]++|[A-Z][a-z]++)?[0-9]{0,6}+[-_]++)++\Z")
_OF_BASE64 = re.compile(r"[A-Za-z0-9+/]{20}\Z")
_CHANGE = re.compile(r"[a-z][A-Z0-9]|[A-Z][0-9]|[0-9][A-Za-z]")
_REACH = 40
"""Characters before a token that are examined; a word that is cut off there counts as a beginning."""
_FEWEST_LETTERS = 5
"""Different letters that a token has at least: sk-xxxxxxxxxxxx and AKIAXXXXXXXXXXXXXXXX are placeholders."""


@cache
def _letters(alphabet: str) -> re.Pattern[str]:
    return re.compile(f"[{_ALPHABETS[alphabet]}]*+")


@cache
def _beginnings() -> tuple[re.Pattern[str], dict[str, list[tuple[str, Form]]]]:
    """A pattern that finds the longest prefix at a place, and the forms to try there, longest prefix first."""
    # sk-ant- before sk-: the longer prefix names the issuer.
    pairs = sorted(((prefix, form) for form in FORMS for prefix in form.prefixes), key=lambda each: -len(each[0]))
    prefixes = sorted({prefix for prefix, _ in pairs})
    tried = {prefix: [each for each in pairs if prefix.startswith(each[0])] for prefix in prefixes}
    return re.compile(_branches(prefixes)), tried


def _branches(words: list[str]) -> str:
    """A pattern for any of these words, the longest first. As a tree of letters, it reads each letter only once."""
    by_letter: dict[str, list[str]] = {}
    for word in words:
        if word:
            by_letter.setdefault(word[0], []).append(word[1:])
    ways = "|".join(re.escape(letter) + _branches(rest) for letter, rest in by_letter.items())
    if "" in words:
        return f"(?:{ways})?" if ways else ""
    return f"(?:{ways})" if len(by_letter) > 1 else ways


def tokens_in(text: str) -> Iterator[Span]:
    """Every token of a known form."""
    pattern, tried = _beginnings()
    place = 0
    while (match := pattern.search(text, place)) is not None:
        place = match.start() + 1
        for prefix, form in tried[match[0]]:
            start = match.start() + len(prefix)
            end = _end(text, start, form)
            if _begins(text, match.start(), close=len(prefix) < 5) and _is_token(text, start, end, form):
                yield match.start(), end, form.kind
                place = end
                break
            # A long run cannot hide a token that starts inside it; searching it again would take quadratic time.
            if end - start > _SHORT_RUN:
                place = max(place, end)


def _end(text: str, start: int, form: Form) -> int:
    match = _letters(form.alphabet).match(text, start)
    assert match is not None
    # A full stop after a token ends the sentence.
    return match.end() - 1 if match.end() > start and text[match.end() - 1] == "." else match.end()


def _is_token(text: str, start: int, end: int, form: Form) -> bool:
    length = end - start
    if length < form.least or (form.most is not None and length > form.most):
        return False
    # A longer run than the issuer writes is something else: a hash, or a part of base64.
    if form.most is not None and _is_letter(text[end : end + 1]):
        return False
    body = text[start:end]
    # sk-xxxxxxxx in documentation is not a key.
    if len(set(body)) < _FEWEST_LETTERS:
        return False
    if form.unbroken:
        return _UNBROKEN.search(body) is not None
    return form.alphabet != "url" or _RANDOM.search(body) is not None


def _begins(text: str, place: int, *, close: bool) -> bool:
    """Whether a word may begin at a place. `close`: after - and _ only if plain words come before them, as in
    `sample7-ghp_…` or `my_key_hf_…`; in the middle of base64 these letters mean nothing."""
    if place == 0:
        return True
    before = text[place - 1]
    if _is_letter(before):
        # The letter may belong to an escape: a line end written as \n, an = written as %3D, a colour.
        return _ESCAPE.search(text[max(0, place - 12) : place]) is not None
    if close and before in "+/" and _in_base64(text[max(0, place - _REACH) : place]):
        return False
    if close and before in "-_":
        return _WORDS.search(text[max(0, place - _REACH) : place]) is not None
    return True


def _in_base64(before: str) -> bool:
    """Whether the text before looks random, as no path does: alternating letters and digits."""
    return _OF_BASE64.search(before) is not None and len(_CHANGE.findall(before)) >= 4


def _is_letter(letter: str) -> bool:
    return letter.isascii() and letter.isalnum()
