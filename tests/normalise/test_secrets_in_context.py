"""Values that are secrets only behind a name: that of their issuer, or one that says little."""

from __future__ import annotations

import pytest

from pantrace.normalise.secrets import Redactor

HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
COMMIT = "84f755fd625a6d30602a1275b0e8fe615ebe8f7c"
UUID = "22e4aecd-aa3a-4121-85e1-96f4bc0464a2"

INNOCENT = [
    f"commit {COMMIT}",
    f"sourcegraph shows commit {COMMIT} and tree {COMMIT}",
    f"see https://sourcegraph.com/r/-/commit/{COMMIT}",
    f"the id is {UUID}, the digest {HEX}",
    "'sum', 'sumint', 'sumofsquares', 'sumsandsquares', 'sumo'",
    "dropbox = authentication1",
    "discord: my-channel-name-for-the-release1",
    f'"LlmRequestKey": "{UUID}", "__llm_request_key__": "{UUID}"',
    # Names that have a digit, behind names that have a word.
    "RegOpenKeyEx = win32api.RegOpenKeyEx\n",
    "PKCS8_PRIV_KEY_INFO = pkcs8_priv_key_info_st\n",
    "'cast_key_st', 'X509_HASH_DIR_CTX', 'gss_krb5_lucid_key', 'gss_krb5_rfc1964_keydata'",
    "dest_key='Ec2SubnetIds'",
    'PBESv1SHA1And3KeyTripleDESCBC = "PBESv1 using SHA1 and 3-Key TripleDES"',
    '"x5t": KeyParameter("X.509 Certificate SHA-1 Thumbprint", is_str)',
    "nid_key = self._lib.NID_pbe_WithSHA1And3_Key_TripleDES_CBC\n",
    "import PythonToken, BOM_UTF8_STRING\n",
    # Types, places and names of variables that hold a secret.
    f'"AWS::IAM::AccessKey": "{HEX[:16]}", "AWS::Config::AggregationAuthorization": "{HEX[:16]}"',
    '"arn:aws:secretsmanager:*:*:secret:quicksight!*"',
    "ACCESS_KEY = 'AWS_ACCESS_KEY_ID'\nSECRET_KEY = 'aws_secret_access_key'\nACCESS_KEY = 'AWSAccessKeyId'",
    'NOPASSWORD = "no-password-required"',
    "a library identified by 'name'.",
    'if "-----BEGIN PRIVATE KEY-----" in text and len(text) > 100 and text.endswith("-----END PRIVATE KEY-----"):',
    "curl x; docker run -u 1000:1000 img",
    'curl -H "Authorization: Bearer YOUR_TOKEN" -u "$USER:$PASSWORD" https://x',
    "kind: ConfigMap\ndata:\n  level: abc123def456ghi789\n",
    '"Key": "MegaFrogRaceServer_build_123.zip", "policy_key": "CloudWatchFullAccessV2"',
    "oauth1_client_key = 'FlaskOAuth1App'; auth = `FlaskOAuth1App` or `DjangoOAuth2App`; token = `a` + `b2` + `c`",
    "version 8.8.8.8 of MyVeryLongClassNameForTest.method.another_long_attribute_name",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_without_its_context_a_value_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == (text, {})


FOUND = [
    (f"sendbird_token: {COMMIT}", "sendbird_token: ", ""),
    (f"SENDBIRD = '{COMMIT}'", "SENDBIRD = '", "'"),
    (f"# for sourcegraph\nsrc login {COMMIT}\n", "# for sourcegraph\nsrc login ", "\n"),
    ("discord_client_id = 198622483471925248", "discord_client_id = ", ""),
    (f"heroku.app => {UUID}", "heroku.app => ", ""),
    (f"export LINEAR={HEX}", "export LINEAR=", ""),
    (f"mailgun: pubkey-{HEX}", "mailgun: ", ""),
    ("my_key_of_today => k3J9xQ2vB7nM4tZ8\n", "my_key_of_today => ", "\n"),
    ('private_key "k3J9x)Q2vB7n(M4tZ8";', 'private_key "', '";'),
    # Few digits, but small and large letters alternate; backticks that hold some.
    ("db_password_of_today = 'srQmYFMZfeo685V'", "db_password_of_today = '", "'"),
    ("service_key_1 => `Y7(GD@;S,1e`}5O9m`;", "service_key_1 => `", "`;"),
    ("if 'k3J9xQ2vB7nM4tZ8' == password:", "if '", "' == password:"),
    ("curl -u 'ann lee:pa ss/w0rd' https://x", "curl -u 'ann lee:", "' https://x"),
    ("xoxr-ibEN2IOmA", "", ""),
    ("on facebook: 423675820042738%2pZkHZrVQ395DhtU63U0Kh1i-3B6", "on facebook: ", ""),
    ("ACfr06kiy3jaunl4jj7z4icsm1dkyoyplj", "", ""),
    ("358297579:RqiR5-UWp4wyWefanRMxJuNGkvkPCg47Yl_", "", ""),
    ("OsscmG2v7dYhlGWubtlJ64kF.SHfLwi.k9x_db_kfAGZouH2IT9VYkAJZRY", "", ""),
]


@pytest.mark.parametrize(("text", "before", "behind"), FOUND)
def test_in_its_context_it_is_replaced(text: str, before: str, behind: str) -> None:
    clean, counts = Redactor().text(text)
    assert sum(counts.values()) == 1
    assert clean.startswith(f"{before}[redacted:")
    assert clean.endswith(f"]{behind}")
    assert Redactor().text(clean) == (clean, {})


def test_the_name_of_a_member_is_context_too() -> None:
    held = {"discord_client_id": 198622483471925248, "sendbird": {"n": 1}, "MERAKI_ID": COMMIT, "commit": COMMIT}
    clean = Redactor().value(held)
    assert clean == {**held, "discord_client_id": "[redacted:discord-value]", "MERAKI_ID": "[redacted:meraki-value]"}


def test_public_addresses_of_machines_are_personal() -> None:
    redactor = Redactor(personal=True)
    assert redactor.text("from 81.2.69.142:443 came")[0] == "from [redacted:ip-address] came"
    for text in ("127.0.0.1 10.1.2.3 192.168.0.7 192.0.2.1", "Chrome/120.0.6099.71", "version 1.2.3.4", "120.0.0.0"):
        assert redactor.text(text) == (text, {})
