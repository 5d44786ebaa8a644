"""What the text of a change says: tests that go or are disabled, secrets that come."""

# ruff: noqa: E501

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.checks.change import added_secret
from navigator.checks.removed_tests import FileText, removed_tests

PYTHON = (
    "import unittest\n\nfrom app import f\n\n\nclass Case(unittest.TestCase):\n"
    "    def test_one(self):\n        self.assertEqual(f(1), 2)\n        self.assertEqual(f(2), 3)\n\n"
    "    def test_two(self):\n        self.assertRaises(ValueError, f, None)\n\n\n"
    "def test_three():\n    value = f(10)\n    assert value == 11\n"
)
JS = "describe('f', () => {\n  it('adds', () => { expect(f(1)).toBe(2); });\n  it('refuses', () => { expect(() => f(null)).toThrow(); });\n});\n"
GO = 'package x\n\nfunc TestOne(t *testing.T) {\n\tif F(1) != 2 {\n\t\tt.Fatal("no")\n\t}\n}\n\nfunc TestTwo(t *testing.T) {\n\tif F(2) != 3 {\n\t\tt.Errorf("no")\n\t}\n}\n'
RUST = "pub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(super::f(), ());\n    }\n\n    #[test]\n    #[should_panic]\n    fn two() {\n        assert!(false);\n    }\n}\n"
JAVA = "class FTest {\n  @Test\n  void one() { assertEquals(2, f(1)); }\n\n  @ParameterizedTest\n  @ValueSource(ints = {1})\n  public void two(int x) { assertTrue(f(x) > 0); }\n}\n"
RUBY = "describe F do\n  it 'adds' do\n    expect(f(1)).to eq 2\n  end\n\n  it 'refuses' do\n    expect { f(nil) }.to raise_error\n  end\nend\n"


def said(path: str, old: str | None, new: str | None) -> str:
    return removed_tests([FileText(path, old, new)]).get(path, "")


GONE = [
    ("tests/test_f.py", PYTHON, PYTHON.replace("test_two", "_test_two"), "removes 1 test: Case.test_two"),
    ("tests/test_f.py", PYTHON, None, "removes the file: removes 3 tests"),
    ("test_f.py", PYTHON, PYTHON.replace("        self.assertEqual(f(2), 3)\n", ""), "takes assertions out of Case.test_one"),
    ("test_f.py", PYTHON, PYTHON.replace("assert value == 11", "assert True"), "takes assertions out of test_three"),
    ("test_f.py", PYTHON, PYTHON.replace("    value = f(10)\n", "    return\n    value = f(10)\n"), "takes assertions out of test_three"),
    ("test_f.py", PYTHON, PYTHON.replace("def test_three", "@pytest.mark.skip\ndef test_three"), "disables tests: pytest.mark.skip"),
    ("test_f.py", PYTHON, "import pytest\npytest.skip('x', allow_module_level=True)\n" + PYTHON, "disables tests"),
    ("test_f.py", PYTHON, PYTHON.replace("def test_three", "if False:\n  def test_three").replace("    value", "      value").replace("    assert v", "      assert v"), "removes 1 test: test_three"),
    ("src/f.test.ts", JS, JS.replace("it('refuses'", "// it('refuses'"), "removes 1 test: refuses"),
    ("src/f.test.ts", JS, JS.replace("it('refuses'", "it.skip('refuses'"), "disables tests: it.skip"),
    ("src/f.test.ts", JS, JS.replace("it('adds'", "it.only('adds'"), "disables tests: it.only"),
    ("src/f.spec.js", JS, JS.replace("expect(f(1)).toBe(2);", ""), "takes assertions out of adds"),
    ("f_test.go", GO, GO.partition("func TestTwo")[0], "removes 1 test: TestTwo"),
    ("f_test.go", GO, GO.replace("if F(2)", "t.Skip()\n\tif F(2)"), "disables tests: t.Skip"),
    ("src/lib.rs", RUST, RUST.replace("    #[test]\n    fn one", "    fn one"), "removes 1 test: one"),
    ("src/lib.rs", RUST, RUST.replace("#[test]\n    fn one", "#[test]\n    #[ignore]\n    fn one"), "disables tests"),
    ("src/test/java/FTest.java", JAVA, JAVA.replace("@Test\n", ""), "removes 1 test: one"),
    ("src/test/java/FTest.java", JAVA, JAVA.replace("@Test\n", "@Test @Disabled\n"), "disables tests: @Disabled"),
    ("spec/f_spec.rb", RUBY, RUBY.replace("  it 'refuses'", "  xit 'refuses'"), "refuses"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "words"), GONE)
def test_what_goes_is_said(path: str, old: str, new: str | None, words: str) -> None:
    assert words in said(path, old, new)


HARMLESS = [
    ("test_f.py", PYTHON, PYTHON + "\n\ndef test_four():\n    assert f(4) == 5\n"),
    ("test_f.py", PYTHON, PYTHON.replace("def test_three", "def test_it_adds_one_to_ten")),
    ("test_f.py", PYTHON, PYTHON.replace("f(10)", "f(20)").replace("== 11", "== 21")),
    ("test_f.py", PYTHON, "# words\n" + PYTHON),
    ("app.py", "def f(x):\n    assert x\n    return x\n", "def f(x):\n    return x\n"),
    ("src/f.test.ts", JS, JS.replace("toBe(2)", "toEqual(2)")),
    ("src/lib.rs", RUST, RUST.replace("pub fn f() {}", "pub fn f() { () }")),
    ("f_test.go", GO, GO.replace("F(2) != 3", "F(2) != 4")),
    ("src/f.ts", "const it = 1;", ""),
]


@pytest.mark.parametrize(("path", "old", "new"), HARMLESS)
def test_what_stays_is_not_said(path: str, old: str, new: str) -> None:
    assert said(path, old, new) == ""


def test_a_test_that_moves_to_another_file_is_not_gone() -> None:
    one, two = PYTHON.partition("\n\ndef test_three")[0] + "\n", PYTHON.partition("\n\ndef test_three")[2]
    moved = [FileText("test_f.py", PYTHON, one), FileText("test_g.py", None, "def test_three" + two)]
    assert removed_tests(moved) == {}
    emptied = [
        FileText("test_f.py", PYTHON, one),
        FileText("test_g.py", None, "def test_other():\n    pass\n"),
    ]
    assert "test_three" in removed_tests(emptied)["test_f.py"]


@given(st.text(max_size=400), st.text(max_size=400))
@pytest.mark.parametrize("path", ["test_a.py", "a.test.js", "a_test.go", "tests/a.rs", "ATest.java", "ATests.cs", "a_spec.rb", "test_a.cpp", "ATest.php", "a.bats", "ATests.swift"])  # fmt: skip
def test_any_text_is_read(path: str, old: str, new: str) -> None:
    files = [FileText(path, old, new)]
    removed_tests(files)
    assert removed_tests([FileText(path, old, old)]) == {}
    added_secret(old, new)


# Keys are made here, so that none stands in this file.


def drawn(
    length: int, alphabet: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
) -> str:
    digest = hashlib.sha512(b"navigator tests").digest() * 4
    return "".join(alphabet[byte % len(alphabet)] for byte in digest)[:length]


def pem() -> str:
    body = base64.encodebytes(hashlib.sha512(b"no key").digest() * 6).decode()
    return f"-----BEGIN {'RSA'} PRIVATE KEY-----\n{body}-----END {'RSA'} PRIVATE KEY-----\n"


SECRETS = {"a token of a provider": f'TOKEN = "{"gh" + "p_" + drawn(36)}"\n', "a whole key": pem()}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_that_comes_is_said_without_itself(name: str) -> None:
    text = SECRETS[name]
    found = added_secret("x = 1\n", f"x = '\f\u2028'\n\n{text}")  # lines as git counts them
    assert found, name
    assert drawn(10) not in found
    assert "line 3" in found or "line 4" in found


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_that_was_there_is_not_added(name: str) -> None:
    text = SECRETS[name]
    assert added_secret(text, f"{text}\ny = 2\n") == ""
    assert added_secret(text, None) == ""


def test_an_ordinary_password_is_no_secret() -> None:
    assert added_secret("", 'password = "correct horse battery"\n') == ""
