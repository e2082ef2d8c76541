"""Forms that other scanners report and that `tokens` and `shapes` lack: shorter, in any case, with more characters.

Issuers write their tokens in one case only; a scanner that ignores case also finds those that a program has changed.
Each pattern is bounded, or reads a run possessively, as in `shapes`."""

from __future__ import annotations

import re

from .drawn import entropy, is_drawn, is_wordless
from .names import is_word
from .shapes import Shape

# A token inside a longer word is a part of something else, such as a hash or base64.
_ALONE = r"(?<![A-Za-z0-9_-])"
_BEHIND = r"(?![A-Za-z0-9_-])"
_ASSIGNED = r"['\"]?\]?[ ]{0,64}(?:=>|:=|::|[=: ])[ ]{0,64}['\"]?"
_OPENED = r"(?<!\w)"
_KEY_OR_PASS = "(?:key|pwd|pw|password|pass|token)"


def _is_password(value: str) -> bool:
    """curl -u ann:hunter22, but not docker run -u 1000:1000."""
    return not value.strip(".,;)`").isdigit() and not is_word(value)


def _is_chosen(value: str) -> bool:
    return (any(each.isdigit() for each in value) and not is_word(value)) or is_drawn(value)


def _is_unspoken(value: str) -> bool:
    return is_drawn(value) and is_wordless(value)


def _is_value(value: str) -> bool:
    """Any value that is not a placeholder."""
    return not is_word(value) or (value[0] in "<$" and value[-1] not in ">})")


def _is_header(value: str) -> bool:
    return is_drawn(value) and entropy(value) > 2.75


def _is_dotted(value: str) -> bool:
    """Three parts that look random; a module, a class and a method of the same lengths do not."""
    return all(is_drawn(part) for part in value.split(".")[::2]) and any(each.isdigit() for each in value)


def _is_key(value: str) -> bool:
    """Whether the text between the lines looks random; code that mentions both lines of a key has words there."""
    inside = re.sub(r"(?i:-----begin.{0,120}?key(?: block)?-----)|\s", "", value)
    return re.search(r"[A-Za-z0-9+/=]{48}", inside) is not None or (is_wordless(inside) and entropy(inside) > 4.5)


def _of_any_case(kind: str, anchor: str, pattern: str) -> Shape:
    return Shape(kind, anchor, rf"(?i:{_ALONE}{pattern})", is_drawn)


REPORTED = (
    _of_any_case("atlassian-token", "atatt3", rf"ATATT3[\w=-]{{186}}{_BEHIND}"),
    _of_any_case("clojars-token", "clojars_", "CLOJARS_[a-z0-9]{60}"),
    _of_any_case("digitalocean-token", "dor_v1_", f"dor_v1_[a-f0-9]{{64}}{_BEHIND}"),
    _of_any_case("flutterwave-key", "flwpubk_test-", "FLWPUBK_TEST-[a-h0-9]{32}-X"),
    _of_any_case("grafana-key", "eyjrijoi", "eyJrIjoi[a-z0-9]{70,400}+={0,3}"),
    _of_any_case("grafana-token", "glc_", "glc_[a-z0-9+/]{32,400}+={0,3}"),
    _of_any_case("grafana-token", "glsa_", f"glsa_[a-z0-9]{{32}}_[a-f0-9]{{8}}{_BEHIND}"),
    _of_any_case("intra42-secret", "s-s4t2", f"s-s4t2(?:ud|af)-[a-f0-9]{{64}}{_BEHIND}"),
    _of_any_case("npm-token", "npm_", f"npm_[a-z0-9]{{36}}{_BEHIND}"),
    _of_any_case("planetscale-token", "pscale_pw_", r"pscale_pw_[\w=.-]{32,64}"),
    _of_any_case("slack-token", "xapp-", "xapp-[0-9]-[a-z0-9]{1,99}-[0-9]{1,99}-[a-z0-9]{1,199}"),
    _of_any_case("slack-token", "xox", "xoxe.xox[bp]-[0-9]-[a-z0-9]{163,166}"),
    _of_any_case("slack-token", "xoxe-", "xoxe-[0-9]-[a-z0-9]{146}"),
    Shape("slack-token", "xox", rf"(?i:{_ALONE}xox[abposr]-(?:[0-9]{{1,64}}-){{1,64}}+[a-z0-9]{{1,199}}+)"),
    Shape("slack-token", "xox", rf"{_ALONE}(?:xox[ar]-)(?:[0-9]-)?[0-9A-Za-z]{{8,48}}+{_BEHIND}", is_drawn),
    Shape(
        "slack-webhook",
        "slack",
        r"(?i:hooks.slack.com/(?:services|workflows|triggers)/)(?P<secret>[A-Za-z0-9+/_]{20,}+)",
    ),
    Shape("sourcegraph-token", "sgp_", rf"(?i:{_ALONE}sgp_(?:(?:[a-f0-9]{{16}}|local)_)?[a-f0-9]{{40}}){_BEHIND}"),
    Shape(
        "slack-webhook",
        "slack",
        r"(?i:hooks\.slack\.com/services/(?P<secret>T\w{1,64}/B\w{1,64}/\w{1,128}+))",
        is_drawn,
    ),
    # Two entries for one form: the word must be near, because forty hexadecimal digits are also a Git commit.
    *(
        Shape(
            "sourcegraph-token",
            "",
            r"(?<![\w@/-])(?<!commit )(?<!tree )(?<!parent )(?P<secret>[a-fA-F0-9]{40})(?=[`'\"\s;]|\\[nrNR]|\Z)",
            is_drawn,
            near=near,
        )
        for near in ("sourcegraph", "sgp_")
    ),
    Shape(
        "facebook-token",
        "%",
        rf"(?<!\w)[0-9]{{15,16}}%[\w-]{{27,40}}{_BEHIND}",
        is_drawn,
        near="facebook",
    ),
    Shape("square-token", "eaaa", r"(?<![\w+/=-])EAAA[\w-]{22,60}+(?=[`'\"\s;]|\\[nr]|\Z)", _is_unspoken),
    Shape("square-token", "sq0csp-", r"sq0csp-[0-9A-Za-z\\_-]{43}"),
    Shape("github-token", "gh", rf"{_ALONE}gh[pousr]_[A-Za-z0-9_]{{36}}", is_drawn),
    Shape("aws-key", "bedrock-api-key-", r"bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9+/=_-]*+"),
    Shape(
        "authress-key",
        ".acc",
        rf"{_ALONE}(?:sc|ext|scauth|authress)_(?i:[a-z0-9]{{5,30}}\.[a-z0-9]{{4,6}}\.acc[_-][a-z0-9-]{{10,32}}"
        r"\.[a-z0-9+/_=-]{30,120})",
    ),
    Shape("mailchimp-key", "-us", r"(?<![0-9a-z])[0-9a-z]{32}-us[0-9]{1,2}(?![0-9a-z])", is_drawn),
    Shape("twilio-key", "", r"(?<![A-Za-z0-9])(?:AC|SK)[a-z0-9]{32}(?![A-Za-z0-9])", is_drawn),
    Shape("artifactory-token", "akc", r"(?<![^\s=:\"])AKC[A-Za-z0-9]{10,}+(?![^\s\"])", _is_value),
    Shape("artifactory-token", "ap", r"(?<![^\s=:\"])AP[0-9A-F][A-Za-z0-9]{8,}+(?![^\s\"])", is_drawn),
    Shape("discord-token", ".", r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}", _is_dotted),
    Shape("telegram-token", ":", r"(?m:^[0-9]{8,10}:[0-9A-Za-z_-]{35}$)", is_drawn),
    Shape(
        "jwt",
        ".ey",
        rf"{_ALONE}ey[A-Za-z0-9]{{17,}}+\.ey[A-Za-z0-9/\\_-]{{17,}}+\.(?:[A-Za-z0-9/\\_-]{{10,}}+={{0,2}})?",
        is_drawn,
    ),
    Shape("jwt", "zxlk", r"(?<!\w)ZXlK[A-Za-z0-9/\\_+\r\n-]{44,}+={0,2}", is_drawn),
    Shape("npm-token", "_authtoken=", r"/:_authToken=\s{0,32}(?P<secret>npm_[^\n]{1,512}+|[A-Fa-f0-9-]{36})"),
    Shape(
        "freemius-key",
        "secret_key",
        r"(?i:[\"']secret_key[\"']\s{0,64}=>\s{0,64})[\"'](?P<secret>(?i:sk_)\S{29})[\"']",
    ),
    Shape(
        "password",
        "<add key=",
        r"(?i:<add key=\"(?:cleartext)?password\"\s{0,64}value=\")(?P<secret>[^\n]{8,512}?)\"\s{0,64}/>",
        _is_value,
        begins=True,
    ),
    Shape(
        "password",
        "password",
        r"(?i:password[ \t\w.-]{0,20}[\s'\"]{0,3}(?:=>|:{1,3}=|\?=|\|\||[=>:,])[`'\"\s=]{0,5})"
        r"\"(?P<secret>(?i:[a-z0-9=_-]{8,20}))\"",
        _is_chosen,
        begins=True,
    ),
    Shape(
        "private-key",
        "-----begin",
        r"(?is:-----BEGIN[ \w-]{0,100}?PRIVATE KEY(?: BLOCK)?-----.{64,16384}?KEY(?: BLOCK)?-----)",
        _is_key,
        begins=True,
    ),
    Shape(
        "kubernetes-secret",
        "data:",
        r"(?is:data:.{0,100}?\s{1,64}[\w.-]{1,128}:(?:[ \t]{0,64}(?:\||>[-+]?)\s{1,64})?[ \t]{0,64}[\"']?"
        r"(?P<secret>[a-z0-9+/]{10,8192}+={0,3}))",
        is_drawn,
        begins=True,
        near=r"\bkind:[ \t]{0,32}[\"']?secret\b",
    ),
    Shape(
        "password",
        "curl",
        r"(?<=\s)(?:-H|--header)(?:=|[ \t]{0,5})[\"']"
        r"(?i:authorization:[ \t]{0,5}(?:(?:basic|bearer|(?:api-)?token)[ \t])?|(?:x-(?:[a-z]{1,32}-)?)?"
        r"(?:api-?)?(?:key|token):[ \t]{0,5})(?P<secret>[\w=~@.+/-]{8,}+)[\"']",
        _is_header,
    ),
    Shape(
        "password",
        "curl",
        r"(?<=\s)(?:-u|--user)(?:=|[ \t]{0,5})(?:\"[^:\"\n]{0,256}+:(?P<a>[^\"\n]{3,256}+)\""
        r"|'[^:'\n]{3,256}+:(?P<b>[^'\n]{3,256}+)'|(?:\"[^\"\n]{3,256}\"|'[^'\n]{3,256}'|[\w$@.-]{1,128}+):"
        r"(?:\"(?P<c>[^\"\n]{3,256})\"|'(?P<d>[^'\n]{3,256})'|(?P<e>[\w${}@.-]{1,256}+)))(?=\s|\Z)",
        _is_password,
    ),
    Shape("password", "curl", r"(?<=\s)(?:-u|--user)(?:=|[ \t]{0,5})\"(?P<secret>[^:\"\n]{3,256}+):\"", _is_chosen),
    Shape(
        "aws-secret",
        "aws",
        rf"(?i:aws[^\n]{{0,20}}?{_KEY_OR_PASS}[^\n]{{0,20}}?)['\"](?P<secret>[0-9a-zA-Z/+]{{40}})['\"]",
        is_drawn,
        begins=True,
    ),
    Shape(
        "cloudant-key",
        "cl",
        rf"(?i:{_OPENED}(?:cloudant|clou|cl)[_-]?(?:api)?{_KEY_OR_PASS}{_ASSIGNED}"
        r"(?P<secret>[0-9a-f]{64}|[a-z]{24})(?![0-9a-z]))",
        is_drawn,
    ),
    Shape(
        "softlayer-key",
        "sl",
        rf"(?i:{_OPENED}sl[_-]?(?:api)?[_-]?{_KEY_OR_PASS}{_ASSIGNED}(?P<secret>[a-z0-9]{{64}}))",
        is_drawn,
    ),
    Shape(
        "softlayer-key",
        "softlayer",
        rf"(?i:softlayer(?:[_-]?(?:api)?[_-]?{_KEY_OR_PASS}{_ASSIGNED}|.com/soap/v3(?:.1)?/)(?P<secret>[a-z0-9]{{64}}))",
        is_drawn,
        begins=True,
    ),
    Shape(
        "ibm-key",
        "secret",
        rf"(?i:secret[_-]?(?:access)?[_-]?key{_ASSIGNED}(?P<secret>[a-f0-9]{{48}})(?![a-f0-9]))",
        is_drawn,
        begins=True,
    ),
    *(
        Shape(
            "ibm-key",
            word,
            rf"(?i:{word}(?:word)?{_ASSIGNED}(?P<secret>[a-z0-9_-]{{44}})(?![a-z0-9_-]))",
            _is_unspoken,
            begins=True,
        )
        for word in ("key", "pwd", "pass", "token")
    ),
)
