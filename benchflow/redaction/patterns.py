"""The shapes of credentials that nobody told us of, by what their issuers say that they begin with. Pure.

Each begins with a fixed text, by which it is looked for, and is long enough to be no word of a language.
"""

import re
from dataclasses import dataclass

REACH = 4096
"""Bytes within which a pattern is found whole; of a longer one at least these."""

_START = rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
"""Nothing of a word stands before it, but the letter of an escape may."""
_DIGIT = rb"(?=[A-Za-z_./+-]{0,80}[0-9])"
"""There is a digit in it: names joined by hyphens have none, as a rule."""


@dataclass(frozen=True)
class Pattern:
    """One shape of a credential."""

    category: str
    begins: tuple[bytes, ...]
    """The texts that it can begin with."""
    regex: re.Pattern[bytes]
    """Matches at the beginning; a group named `secret` is what is replaced, if there is one."""


def _pattern(category: str, *begins: bytes, rest: bytes, word: bool = True) -> Pattern:
    heads = b"|".join(re.escape(begin) for begin in begins)
    start = _START if word else b""
    return Pattern(category, begins, re.compile(start + b"(?:" + heads + b")" + rest))


PATTERNS = (
    _pattern("api_key", b"sk-", rest=rb"(?!benchflow-)" + _DIGIT + rb"[A-Za-z0-9_-]{20,}"),
    _pattern("api_key", b"sk_live_", b"rk_live_", b"sk_test_", b"gsk_", b"xai-", b"pplx-", rest=rb"[A-Za-z0-9]{20,}"),
    _pattern("api_key", b"nvapi-", b"r8_", b"hf_", b"tvly-", rest=_DIGIT + rb"[A-Za-z0-9_-]{24,}"),
    _pattern("api_key", b"AIza", rest=rb"[A-Za-z0-9_-]{35}"),
    _pattern("api_key", b"SG.", rest=rb"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _pattern("access_token", b"ya29.", rest=rb"[A-Za-z0-9_-]{20,}"),
    _pattern("access_token", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", rest=rb"[A-Za-z0-9]{36,}"),
    _pattern("access_token", b"github_pat_", rest=rb"[A-Za-z0-9_]{50,}"),
    _pattern("access_token", b"glpat-", rest=rb"[A-Za-z0-9_-]{20,}"),
    _pattern("access_token", b"npm_", rest=rb"[A-Za-z0-9]{36,}"),
    _pattern("access_token", b"pypi-AgE", rest=rb"[A-Za-z0-9_-]{50,}"),
    _pattern("access_token", b"xoxa-", b"xoxb-", b"xoxp-", b"xoxr-", b"xoxs-", rest=rb"[A-Za-z0-9-]{10,}"),
    _pattern("access_token", b"AKIA", b"ASIA", rest=rb"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _pattern("access_token", b"eyJ", rest=rb"[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    _pattern(
        "access_token",
        b"Bearer ",
        b"bearer ",
        rest=rb"(?P<secret>(?!sk-benchflow-)" + _DIGIT + rb"[A-Za-z0-9._~+/-]{24,}=*)",
    ),
    _pattern("password", b"://", rest=rb"[^/\s:@\"'\\]{0,80}:(?P<secret>[^/\s:@\"'\\]{4,200})@", word=False),
    _pattern(
        "private_key",
        b"-----BEGIN ",
        rest=rb"[A-Z ]{0,30}PRIVATE KEY-----(?P<secret>(?:[A-Za-z0-9+/=\s:,-]|\\+[nr]){40,}?)"
        + rb"(?:-----END|\Z|(?=[\"\\<]))",
        word=False,
    ),
)
"""Key formats as their issuers document them: OpenAI, Anthropic, Stripe, Groq, xAI, Google, SendGrid, GitHub, GitLab,
npm, PyPI, Slack, AWS, and others of the same shapes; JSON Web Tokens (RFC 7519), bearer tokens (RFC 6750), passwords in
URLs (RFC 3986), PEM (RFC 7468)."""
