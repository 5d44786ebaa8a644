"""Redaction: what is recognised by its form, what by its value, and what stays readable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.context.scope import is_secret
from navigator.model.secrets import Redactor, values_in

TOKEN = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMIIEabc123\n"
    "-----END RSA PRIVATE KEY-----"
)

ENV = b"""# settings
DB_PASSWORD=hunter2x
export API_TOKEN="s3cr3t-Value-9"
MODE=production
DEBUG=true
HOST=localhost
DATABASE_URL=postgres://app:pa55w0rd!@db:5432/x
"""


def test_a_token_and_a_key_are_replaced_by_what_they_are() -> None:
    said = Redactor()(f"curl -H 'Bearer {TOKEN}'\n{PEM}\nafter")
    assert said == "curl -H 'Bearer [redacted: a GitHub token]'\n[redacted: a private key]\nafter"


@pytest.mark.parametrize("before", ["\x1b[31m", "\u241b[0;1m", "\x1b[m", "key=", '"'])
def test_a_token_is_found_behind_a_colour(before: str) -> None:
    assert TOKEN not in Redactor()(f"{before}{TOKEN}\x1b[0m")


def test_a_key_that_was_cut_is_redacted_to_its_end() -> None:
    assert "MIIEabc" not in Redactor()(PEM[:-40])


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (ENV, {"hunter2x", "s3cr3t-Value-9", "pa55w0rd!"}),
        (b'{"private_key_id": "a1b2c3d4e5f6a7b8", "kind": "service"}', {"a1b2c3d4e5f6a7b8"}),
        (b"machine h login me password s3same\n", {"s3same"}),
        (b"//registry.example.org/:_authToken=abcDEF12345xyz\n", {"abcDEF12345xyz"}),
        (b"host:5432:db:app:pg-pass-77\n", {"pg-pass-77"}),
        (b"users:\n- name: me\n  user:\n    token: kube.Token.42\n", {"kube.Token.42"}),
    ],
)
def test_the_values_of_a_withheld_file_are_redacted_wherever_they_appear(
    content: bytes, values: set[str]
) -> None:
    redact = Redactor(values_in(content))
    for value in values:
        assert value not in redact(f"E   assert {value!r} == 'x'  ({value})")
        assert value not in redact(json.dumps({"said": value}))


def test_everyday_words_stay_readable() -> None:
    redact = Redactor(values_in(ENV))
    text = "mode production, debug true, host localhost, 3 passed"
    assert redact(text) == text


def test_every_string_of_json_data_is_redacted_and_its_shape_kept() -> None:
    redact = Redactor(["hunter2x"])
    data = {"a": ["hunter2x", 1, None], "b": {"c": "no hunter2x here"}}
    assert redact.data(data) == {"a": ["[redacted]", 1, None], "b": {"c": "no [redacted] here"}}


@given(st.lists(st.text(min_size=5, max_size=12), max_size=5), st.text(max_size=200))
def test_no_learnt_value_is_left(values: list[str], text: str) -> None:
    wanted = [value.strip() for value in values if len(value.strip()) >= 5]
    said = Redactor(values)(text + "".join(wanted))
    for value in wanted:
        assert value not in said.replace("[redacted]", "\0")


def test_files_that_hold_keys_are_withheld_by_name() -> None:
    names = """
    .npmrc a/.pypirc .docker/config.json kubeconfig prod.kubeconfig x/AuthKey_1.p8 a.pem .s3cfg .netrc .env id_rsa prod.env
    my-service-account.json serviceAccountKey.json gcp-sa.json credentials_prod.json auth.json client_secret_12.json
    terraform.tfvars .env.local home/.config/gh/hosts.yml .aws/config .ssh/config credentials.json
    """
    assert [name for name in names.split() if not is_secret(name)] == []


def test_ordinary_names_are_not() -> None:
    names = ".env.example src/config.json kube.py messa.json settings.xml author.json package.json id_rsa.pub"
    names += " env.py credentials.py src/key.ts secrets.py"
    assert [name for name in names.split() if is_secret(name)] == []
