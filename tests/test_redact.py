"""Known secrets are replaced wherever and however they are written."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.redact import Redactor, mark

SECRET = 'sk-a"b\\c/d+e f=é\n0123'
KEY = "sk-proj-0123456789abcdef"
PASSPHRASE = (
    "a long passphrase of many words, one of which is 'staple', so that it takes more than one line: 0123456789 %&/()="
)
REDACTORS = {secret: Redactor([secret]) for secret in ("correct-horse-battery-9", PASSPHRASE)}


@pytest.mark.parametrize("secret", [KEY, SECRET])
@pytest.mark.parametrize(
    "written",
    [
        lambda secret: secret,
        lambda secret: json.dumps({"key": secret}),
        lambda secret: json.dumps({"key": secret}, ensure_ascii=False),
        lambda secret: json.dumps({"key": json.dumps({"deep": secret})}),
        lambda secret: json.dumps({"key": secret}).replace("/", "\\/"),
        lambda secret: f"https://host/?key={quote(secret)}&x=1",
        lambda secret: f"https://host/?key={quote(secret, safe='')}",
        lambda secret: f"key={quote_plus(secret)}",
        lambda secret: f"key={quote(secret, safe='').lower()}" if secret is KEY else quote(secret),
    ],
)
def test_secret_is_replaced_in_every_form(secret: str, written) -> None:
    found = Redactor([secret]).redact(written(secret).encode())

    assert b"[redacted:known]" in found
    assert secret.encode() not in found
    assert b"0123" not in found


@given(st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_secret_is_replaced_inside_of_base64(before: bytes, after: bytes, encode) -> None:
    found = Redactor([KEY]).redact(encode(before + KEY.encode() + after))

    assert b"[redacted:known]" in found
    plain = found.replace(b"[redacted:known]", b"")
    assert KEY[4:-4].encode() not in base64.urlsafe_b64decode(
        plain.translate(bytes.maketrans(b"+/", b"-_"))[: len(plain) // 4 * 4]
    )


@pytest.mark.parametrize("columns", [40, 60, 64, 76])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
@pytest.mark.parametrize(
    "encode",
    [
        lambda data: base64.b64encode(data).decode(),
        lambda data: base64.urlsafe_b64encode(data).decode(),
        lambda data: data.hex(),
        lambda data: data.hex().upper(),
    ],
)
@pytest.mark.parametrize("secret", ["correct-horse-battery-9", PASSPHRASE])
@settings(deadline=None, max_examples=20)
@given(before=st.binary(max_size=80))
def test_secret_is_replaced_where_its_encoding_is_broken_over_lines(
    columns: int, newline: str, encode: Callable[[bytes], str], secret: str, before: bytes
) -> None:
    encoded = encode(before + secret.encode() + b"after it")
    lines = newline.join(encoded[at : at + columns] for at in range(0, len(encoded), columns))
    redactor = REDACTORS[secret].fresh()

    found = redactor.redact(lines.encode())

    assert redactor.counts == {"known": 1}
    kept = found.replace(b"[redacted:known]", b"").replace(newline.encode(), b"")
    assert len(kept) <= len(encode(before + b"after it")) + 6


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("sk-proj-" + "a1B2" * 8, "api_key"),
        ("sk-ant-api03-" + "a1B2" * 20 + "-AA", "api_key"),
        ("AIza" + "a1B2_" * 7, "api_key"),
        ("hf_" + "a1B2" * 9, "api_key"),
        ("ghp_" + "a1B2" * 9, "access_token"),
        ("AKIA" + "A1B2" * 4, "access_token"),
        ("xoxb-123456789012-abcdefghij", "access_token"),
        (".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0In0", "c2lnbmF0dXJl_0")), "access_token"),
        ("Authorization: Bearer " + "a1B2" * 8, "access_token"),
        ("https://me:hunter22@host/path", "password"),
        ("-----BEGIN RSA PRIVATE KEY-----\n" + "a1B2" * 20 + "\n-----END RSA PRIVATE KEY-----", "private_key"),
    ],
)
@pytest.mark.parametrize("put", [str, lambda text: json.dumps({"a": f"first\n{text}"}), lambda text: f"KEY={text}\n"])
def test_what_has_the_shape_of_a_credential_is_replaced(text: str, category: str, put: Callable[[str], str]) -> None:
    redactor = Redactor([])

    found = redactor.redact(put(text).encode())

    assert mark(category) in found
    assert redactor.counts == {category: 1}
    assert not redactor.finds(found)


@pytest.mark.parametrize(
    "text",
    [
        "task-list-of-things-0123456789-and-more",
        "sk-some-words-that-are-joined-by-hyphens",
        "Authorization: Bearer sk-benchflow-0123456789abcdef0123456789abcdef",
        "the bearer authentication-header-explained",
        "https://host:8080/path?mail=me@host",
        "-----BEGIN CERTIFICATE-----\n" + "a1B2" * 20,
        "npm_config_registry_and_other_settings_of_it",
    ],
)
def test_what_only_looks_a_little_like_a_credential_stays(text: str) -> None:
    data = text.encode()

    assert Redactor([]).redact(data) is data


@given(st.text(alphabet='sk-ghp_AKIAeyJ.Bearer ://:@"\\\n0a1', max_size=300))
def test_json_stays_valid_whatever_the_patterns_find(text: str) -> None:
    assert set(json.loads(Redactor([]).redact(json.dumps({"text": text}).encode()))) == {"text"}


def test_fresh_redactor_counts_anew() -> None:
    redactor = Redactor([KEY])
    redactor.redact(KEY.encode())

    assert redactor.fresh().counts == {}
    assert redactor.fresh().redact(KEY.encode()) == mark("known")


values = st.recursive(
    st.sampled_from([KEY, SECRET, "x"]) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", KEY, SECRET]), inner, max_size=3),
    max_leaves=8,
)


@given(values, st.booleans())
def test_json_stays_valid(value: object, ascii_only: bool) -> None:
    found = Redactor([KEY, SECRET]).redact(json.dumps(value, ensure_ascii=ascii_only).encode())

    assert json.loads(found) == json.loads(
        json.dumps(value).replace(KEY, "[redacted:known]").replace(json.dumps(SECRET)[1:-1], "[redacted:known]")
    )


def test_lines_of_a_long_secret_are_secrets_themselves() -> None:
    pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nxx\n-----END KEY-----\n"

    assert Redactor([pem]).redact(b"read: MIIEvQIBADANBgkqhkiG9w0\nxx") == b"read: [redacted:known]\nxx"


@pytest.mark.parametrize("secrets", [[], [""], ["short"]])
def test_what_is_no_secret_stays(secrets: list[str]) -> None:
    data = b"a short text"

    assert Redactor(secrets).redact(data) is data
    assert not Redactor(secrets).finds(data)


def test_clean_bytes_are_the_same_value_afterwards() -> None:
    data = b"nothing here" * 100

    assert Redactor([KEY]).redact(data) is data


def test_longer_secret_goes_before_one_that_it_begins_with() -> None:
    assert Redactor(["secret-one", "secret-one-and-more"]).redact(b"secret-one-and-more") == b"[redacted:known]"


def test_finds_says_whether_there_is_one() -> None:
    redactor = Redactor(["my-secret-0001"])

    assert redactor.finds(b"xmy-secret-0001")
    assert not redactor.finds(b"my-secret-000")
