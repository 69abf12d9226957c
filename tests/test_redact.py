"""Known secrets are replaced wherever and however they are written."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.redact import Redactor

SECRET = 'sk-a"b\\c/d+e f=é\n0123'
KEY = "sk-proj-0123456789abcdef"


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

    assert b"[redacted]" in found
    assert secret.encode() not in found
    assert b"0123" not in found


@given(st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_secret_is_replaced_inside_of_base64(before: bytes, after: bytes, encode) -> None:
    found = Redactor([KEY]).redact(encode(before + KEY.encode() + after))

    assert b"[redacted]" in found
    plain = found.replace(b"[redacted]", b"")
    assert KEY[4:-4].encode() not in base64.urlsafe_b64decode(
        plain.translate(bytes.maketrans(b"+/", b"-_"))[: len(plain) // 4 * 4]
    )


values = st.recursive(
    st.sampled_from([KEY, SECRET, "x"]) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", KEY, SECRET]), inner, max_size=3),
    max_leaves=8,
)


@given(values, st.booleans())
def test_json_stays_valid(value: object, ascii_only: bool) -> None:
    found = Redactor([KEY, SECRET]).redact(json.dumps(value, ensure_ascii=ascii_only).encode())

    assert json.loads(found) == json.loads(
        json.dumps(value).replace(KEY, "[redacted]").replace(json.dumps(SECRET)[1:-1], "[redacted]")
    )


def test_lines_of_a_long_secret_are_secrets_themselves() -> None:
    pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nxx\n-----END KEY-----\n"

    assert Redactor([pem]).redact(b"read: MIIEvQIBADANBgkqhkiG9w0\nxx") == b"read: [redacted]\nxx"


@pytest.mark.parametrize("secrets", [[], [""], ["short"]])
def test_what_is_no_secret_stays(secrets: list[str]) -> None:
    data = b"a short text"

    assert Redactor(secrets).redact(data) is data
    assert not Redactor(secrets).finds(data)


def test_clean_bytes_are_the_same_value_afterwards() -> None:
    data = b"nothing here" * 100

    assert Redactor([KEY]).redact(data) is data


def test_longer_secret_goes_before_one_that_it_begins_with() -> None:
    assert Redactor(["secret-one", "secret-one-and-more"]).redact(b"secret-one-and-more") == b"[redacted]"


def test_finds_says_whether_there_is_one() -> None:
    redactor = Redactor([KEY])

    assert redactor.finds(b"x" + KEY.encode())
    assert not redactor.finds(KEY[:-1].encode())
