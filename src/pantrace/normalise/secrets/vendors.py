"""Values that are secrets only after the name of their issuer: forty hexadecimal digits are a Git commit, but after
`sendbird` a token.

The issuer's name is followed by at most twenty letters of a name, a sign such as = or :, quotes, and a value of just
the right letters and length. The lengths are facts that scanners and issuers publish. Ids of clients and accounts are
among them where scanners report them."""

from __future__ import annotations

import re

from .drawn import is_drawn
from .names import is_stand_in
from .shapes import Shape

_HEX, _ALNUM, _URL, _PADDED = "[a-f0-9]", "[a-z0-9]", "[a-z0-9_-]", "[a-z0-9=_-]"
_UUID = f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
SIGN = r"[\s'\"]{0,3}(?:=>|:{1,3}=|\?=|\|\||[=>:,])[`'\"\s=]{0,5}"
"""What separates a name from its value."""
# Bounded, so that a name at the end of one line cannot claim a value far away.
_BETWEEN = rf"[ \t\w.-]{{0,20}}{SIGN}"
BEHIND = r"(?![A-Za-z0-9_=+/-]|\.\w)"
"""What must not follow a value: more of it."""

_VALUES = {
    "adafruit": (f"{_URL}{{32}}",),
    "adobe": (f"{_HEX}{{32}}",),
    "airtable": (f"{_ALNUM}{{17}}",),
    "algolia": (f"{_ALNUM}{{32}}",),
    "alibaba": (f"{_ALNUM}{{30}}",),
    "artifactory": (f"{_ALNUM}{{73}}", f"{_ALNUM}{{64}}"),
    "asana": ("[0-9]{16}", f"{_ALNUM}{{32}}"),
    "atlassian": (f"{_ALNUM}{{20}}{_HEX}{{4}}",),
    "beamer": (f"b_{_PADDED}{{44}}",),
    "bintray": (f"{_ALNUM}{{73}}", f"{_ALNUM}{{64}}"),
    "bitbucket": (f"{_PADDED}{{64}}", f"{_ALNUM}{{32}}"),
    "bittrex": (f"{_ALNUM}{{32}}",),
    "bundle_enterprise__contribsys__com": (f"{_HEX}{{8}}:{_HEX}{{8}}",),
    "bundle_gems__contribsys__com": (f"{_HEX}{{8}}:{_HEX}{{8}}",),
    "cloudflare": (f"{_URL}{{40}}", f"{_HEX}{{37}}"),
    "co_api_key": (f"{_ALNUM}{{40}}",),
    "codecov": (f"{_ALNUM}{{32}}",),
    "cohere": (f"{_ALNUM}{{40}}",),
    "coinbase": (f"{_URL}{{64}}",),
    "confluence": (f"{_ALNUM}{{20}}{_HEX}{{4}}",),
    "confluent": (f"{_ALNUM}{{64}}", f"{_ALNUM}{{16}}"),
    "contentful": (f"{_PADDED}{{43}}",),
    "datadog": (f"{_ALNUM}{{40}}",),
    "discord": (f"{_HEX}{{64}}", "[0-9]{18}", f"{_PADDED}{{32}}"),
    "dnkey": (f"dnkey-{_PADDED}{{26}}-{_PADDED}{{52}}",),
    "droneci": (f"{_ALNUM}{{32}}",),
    "dropbox": (rf"sl\.{_PADDED}{{135}}", f"{_ALNUM}{{11}}A{{10}}{_PADDED}{{43}}", f"{_ALNUM}{{15}}"),
    "etsy": (f"{_ALNUM}{{24}}",),
    "facebook": (f"{_HEX}{{32}}",),
    "fastly": (f"{_PADDED}{{32}}",),
    "finicity": (f"{_HEX}{{32}}", f"{_ALNUM}{{20}}"),
    "finnhub": (f"{_ALNUM}{{20}}",),
    "flickr": (f"{_ALNUM}{{32}}",),
    "freshbooks": (f"{_ALNUM}{{64}}",),
    "gitter": (f"{_URL}{{40}}",),
    "gocardless": (f"live_{_PADDED}{{40}}",),
    "heroku": (_UUID,),
    "hubspot": (_UUID,),
    "intercom": (f"{_PADDED}{{60}}",),
    "jfrog": (f"{_ALNUM}{{73}}", f"{_ALNUM}{{64}}"),
    "jira": (f"{_ALNUM}{{20}}{_HEX}{{4}}",),
    "kraken": ("[a-z0-9/=_+-]{80,90}",),
    "kucoin": (_UUID, f"{_HEX}{{24}}"),
    "launchdarkly": (f"{_PADDED}{{40}}",),
    "linear": (f"{_HEX}{{32}}",),
    "linked[_-]?in": (f"{_ALNUM}{{16}}", f"{_ALNUM}{{14}}"),
    "lob": (f"(?:live|test)_(?:{_HEX}{{35}}|pub_{_HEX}{{31}})",),
    "looker": (f"{_ALNUM}{{24}}", f"{_ALNUM}{{20}}"),
    "mailchimp(?:SDK.initialize)?": (rf"{_HEX}{{32}}-us[0-9]{{2}}",),
    "mailgun": (f"(?:pub)?key-{_HEX}{{32}}", "[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}"),
    "mapbox": (rf"pk\.{_ALNUM}{{60}}\.{_ALNUM}{{22}}",),
    "mattermost": (f"{_ALNUM}{{26}}",),
    "meraki": (f"{_HEX}{{40}}",),
    "message[_-]?bird": (_UUID, f"{_ALNUM}{{25}}"),
    "netlify": (f"{_PADDED}{{40,46}}",),
    "new[_-]?relic": (f"NRJS-{_HEX}{{19}}", "NRII-[a-z0-9-]{32}", f"NRAK-{_ALNUM}{{27}}", f"{_ALNUM}{{64}}"),
    "new-york-times,": (f"{_PADDED}{{32}}",),
    "newyorktimes": (f"{_PADDED}{{32}}",),
    "nytimes": (f"{_PADDED}{{32}}",),
    "okta": (r"00[\w=-]{40}",),
    "plaid": (f"access-(?:sandbox|development|production)-{_UUID}", f"{_ALNUM}{{30}}", f"{_ALNUM}{{24}}"),
    "private[_-]?ai": (f"{_ALNUM}{{32}}",),
    "rapidapi": (f"{_URL}{{50}}",),
    "sendbird": (_UUID, f"{_HEX}{{40}}"),
    "sentry": (f"{_HEX}{{64}}",),
    "snyk[_.-]?(?:(?:api|oauth)[_.-]?)?(?:key|token)": (_UUID,),
    "sonar[_.-]?(?:login|token)": (f"(?:squ_|sqp_|sqa_)?{_PADDED}{{40}}",),
    "squarespace": (_UUID,),
    "sumo": (f"{_ALNUM}{{64}}", f"su{_ALNUM}{{12}}"),
    "telegr": (f"[0-9]{{5,16}}:A{_URL}{{34}}",),
    "travis": (f"{_ALNUM}{{22}}",),
    "twitch": (f"{_ALNUM}{{30}}",),
    "twitter": (
        "A{22}[a-z0-9%]{80,100}",
        f"[0-9]{{15,25}}-{_ALNUM}{{20,40}}",
        f"{_ALNUM}{{50}}",
        f"{_ALNUM}{{45}}",
        f"{_ALNUM}{{25}}",
    ),
    "typeform": (r"tfp_[a-z0-9_.=-]{59}",),
    "xray": (f"{_ALNUM}{{73}}", f"{_ALNUM}{{64}}"),
    "yandex": (rf"t1\.{_URL}{{1,200}}={{0,2}}\.{_URL}{{86}}={{0,2}}", f"AQVN{_URL}{{35,38}}", f"YC{_URL}{{38}}"),
    "zendesk": (f"{_ALNUM}{{40}}",),
}
_CASED = {"etsy": "ETSY|[Ee]tsy", "meraki": "MERAKI|[Mm]eraki", "okta": "OKTA|[Oo]kta", "sumo": "SUMO|[Ss]umo"}
"""Names that are also parts of other words: Betsy, consumo."""


_FREE = {"sumo"}
"""Issuers whose values need not look random, because they have a prefix of their own."""


def _anchor(name: str) -> str:
    """The letters that a name begins with in all its spellings."""
    return re.split(r"[\[(]", name)[0].lower()


def _is_own(value: str) -> bool:
    return not is_stand_in(value) and not value.islower() and not value.isupper()


VENDORS = tuple(
    Shape(
        f"{_anchor(name).strip('-_,').replace('_', '-')}-value",
        _anchor(name),
        rf"(?i:{f'(?-i:{_CASED[name]})' if name in _CASED else name}{_BETWEEN}(?P<secret>{'|'.join(values)}){BEHIND})",
        # Randomness is required, because names of companies stand in front of all kinds of words.
        _is_own if name in _FREE else is_drawn,
        begins=True,
    )
    for name, values in _VALUES.items()
)
