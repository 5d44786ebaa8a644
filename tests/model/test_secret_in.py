"""Keys in contents. The samples are made up here, piece by piece, so that no scanner takes this file for a leak."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.secrets import secret_in

LETTERS = string.ascii_letters + string.digits


def made_up(count: int, alphabet: str = LETTERS, seed: int = 5) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=count))


TOKENS = {
    "an AWS access key": "AKIA" + made_up(16, string.ascii_uppercase + "234567"),
    "an Anthropic key": "sk-ant-" + "api03-" + made_up(90),
    "an OpenAI key": "sk-" + "proj-" + made_up(48),
    "a GitHub token": "ghp" + "_" + made_up(36),
    "a GitLab token": "glpat" + "-" + made_up(20),
    "a Slack token": "xoxb" + "-" + made_up(12, string.digits) + "-" + made_up(24),
    "a Slack webhook": "hooks.slack" + ".com/services/T0AB1CD2E/B0AB1CD2E/" + made_up(24),
    "a Stripe key": "sk" + "_live_" + made_up(24),
    "a Google key": "AIza" + made_up(35),
    "a Hugging Face token": "hf" + "_" + made_up(34, string.ascii_letters),
    "an npm token": "npm" + "_" + made_up(36),
    "a PyPI token": "pypi-" + "AgE" + made_up(80),
    "a SendGrid key": "SG." + made_up(22) + "." + made_up(43),
    "a DigitalOcean token": "dop_v1_" + made_up(64, "0123456789abcdef"),
    "a Telegram bot token": "123456789:AA" + made_up(33),
    "an age key": "AGE-SECRET-KEY-1" + made_up(58, string.ascii_uppercase + string.digits),
    "an Azure storage key": "AccountKey=" + made_up(86) + "==",
}


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_is_found_told_by_its_line_and_never_repeated(name: str) -> None:
    for around in ('key = "{}"\n', "curl -H 'Bearer {}'\n", "{}", "KEY={}\n", "<a>{}</a>"):
        content = "first\n\n" + around.format(TOKENS[name])
        reason = secret_in(content.encode())
        assert reason == f"holds what looks like {name} (line 3)"
        assert TOKENS[name] not in reason


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_inside_of_a_longer_word_is_none(name: str) -> None:
    assert secret_in(f"x{TOKENS[name]}".encode()) == ""


def test_placeholders_pass() -> None:
    for text in (
        "ghp_" + "x" * 36,
        "AKIAIOSFODNN7EXAMPLE",
        "AKIA" + "A" * 16,
        "sk-proj-" + "0" * 48,
        "sk_live_" + "12" * 15,
    ):
        assert secret_in(text.encode()) == "", text


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_private_keys(kind: str) -> None:
    assert secret_in(f"a\n-----BEGIN {kind}PRIVATE KEY-----\nabc".encode()) == "holds a private key (line 2)"
    assert secret_in(b"-----BEGIN PGP " + b"PRIVATE KEY BLOCK-----")
    assert secret_in(b"PuTTY-User-Key" + b"-File-2: ssh-rsa")
    assert secret_in(f"-----BEGIN {kind}PUBLIC KEY-----\nabc".encode()) == ""


@given(st.binary(max_size=300))
def test_any_bytes_get_an_answer(content: bytes) -> None:
    assert isinstance(secret_in(content), str)
