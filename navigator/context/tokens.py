"""How many tokens a text is, by the model's own tokenizer where its folder is known, else by an estimate.

A `tokenizer.json` with byte-level BPE is turned into a `tiktoken.Encoding`: the merge list gives the ranks, the split
pattern and the NFC normaliser are taken from the file. Special tokens are counted as the plain text they are in a
repository; added tokens that are not special (`<think>`) count as one. tiktoken is imported at the first count and is
handed everything it needs, so it never reaches for the network.

The estimate is the number of UTF-8 bytes divided by 3.2: source code runs at 3 to 4 characters a token in the Qwen
vocabularies, and a CJK character (3 bytes) at about one token.
"""

from __future__ import annotations

import math
import threading
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.model.errors import ConfigError
from navigator.model.json_text import read_json

if TYPE_CHECKING:
    import tiktoken

BYTES_PER_TOKEN = 3.2
_MAX_FILE = 256 << 20
_PIECE = 4096


class UnsupportedTokenizer(ValueError):
    """The file is a tokenizer, but not a byte-level BPE that could be counted exactly."""


class TokenCounter:
    """Counts by a `tokenizer.json`, which is read at the first use; estimates without one, or where it is of another sort.

    Args:
        path: the file, if there is one.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._why: str | None = None if path else "no tokenizer folder is named in the settings"
        self._exact: BpeCounter | None = None

    @property
    def exact(self) -> bool:
        """Whether `count` is the tokenizer's own number. Reads the file at the first use."""
        return not self.why

    @property
    def why(self) -> str:
        """Why the count is an estimate; "" where it is exact."""
        with self._lock:
            if self._why is None:
                assert self._path is not None
                try:
                    self._exact, self._why = _load(self._path), ""
                except UnsupportedTokenizer as error:
                    self._why = f"{self._path.name}: {error}"
            return self._why

    def count(self, text: str) -> int:
        """Tokens of `text`; estimated, its UTF-8 bytes divided by `BYTES_PER_TOKEN`, rounded up.

        Raises:
            ConfigError: the file cannot be read or is no tokenizer.
        """
        if self.exact and self._exact is not None:
            return self._exact.count(text)
        return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


class BpeCounter:
    """Counts with an encoding made from a decoded `tokenizer.json`.

    Raises:
        UnsupportedTokenizer: it is not a byte-level BPE of the sort that can be counted exactly.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._nfc = _wants_nfc(spec.get("normalizer"))
        pattern = _split_pattern(spec.get("pre_tokenizer"))
        ranks = _ranks(spec.get("model"))
        added = _plain_added_tokens(spec.get("added_tokens"))
        self._added = frozenset(added)
        self._encoding = _encoding(pattern, ranks, added)

    def count(self, text: str) -> int:
        """Tokens of `text`."""
        return self._count(self._prepared(text))

    def _prepared(self, text: str) -> str:
        # Lone surrogates are no text; they count as the replacement character a server would make of them.
        text = text.encode("utf-8", "replace").decode("utf-8")
        return unicodedata.normalize("NFC", text) if self._nfc else text

    def _count(self, text: str) -> int:
        try:
            return len(self._encoding.encode(text, allowed_special=set(self._added), disallowed_special=()))
        except ValueError:
            # The pattern gave up on an enormous run of blanks. Pieces of it count almost the same.
            if len(text) <= _PIECE:
                return len(text.encode())
            return sum(self._count(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))


def load_counter(tokenizer_dir: str) -> TokenCounter:
    """The counter for a settings' `tokenizer` folder; one counter a folder, read at the first count.

    Args:
        tokenizer_dir: a folder that holds `tokenizer.json`, or ""; `~` is understood.

    Raises:
        ConfigError: the folder holds no such file.
    """
    if not tokenizer_dir:
        return TokenCounter()
    path = Path(tokenizer_dir).expanduser() / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(
            f"There is no tokenizer.json in {tokenizer_dir}.",
            hint="Let `tokenizer` name the model's folder, or empty it to have tokens estimated.",
        )
    return _file_counter(path.resolve())


@lru_cache(maxsize=8)
def _file_counter(path: Path) -> TokenCounter:
    return TokenCounter(path)


def _load(path: Path) -> BpeCounter:
    hint = "Let `tokenizer` name the folder of the model that is served, or empty it."
    try:
        if path.stat().st_size > _MAX_FILE:
            raise ConfigError(f"{path} is too large to be a tokenizer.", hint=hint)
        spec = read_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    except ValueError:
        raise ConfigError(f"{path} is not JSON.", hint=hint) from None
    if not isinstance(spec, dict):
        raise ConfigError(f"{path} is not a tokenizer.", hint=hint)
    return BpeCounter(spec)


def _encoding(pattern: str, ranks: dict[bytes, int], added: list[str]) -> tiktoken.Encoding:
    import tiktoken

    special = {token: len(ranks) + index for index, token in enumerate(added)}
    try:
        # The last branch takes what a pattern leaves out, where the tokenizer would keep it and tiktoken drop it.
        return tiktoken.Encoding(
            "tokenizer.json", pat_str=f"{pattern}|(?s:.)", mergeable_ranks=ranks, special_tokens=special
        )
    except ValueError as error:
        raise UnsupportedTokenizer(f"its split pattern is not understood ({error})") from None


def _wants_nfc(normalizer: Any) -> bool:
    if normalizer is None:
        return False
    if isinstance(normalizer, dict) and normalizer.get("type") == "NFC":
        return True
    if isinstance(normalizer, dict) and normalizer.get("type") == "Sequence":
        return True in [_wants_nfc(part) for part in normalizer.get("normalizers") or []]
    raise UnsupportedTokenizer("it normalises in another way than NFC")


def _split_pattern(pre_tokenizer: Any) -> str:
    """The pattern that cuts a text before merging."""
    parts = [pre_tokenizer]
    if isinstance(pre_tokenizer, dict) and pre_tokenizer.get("type") == "Sequence":
        parts = pre_tokenizer.get("pretokenizers") or []
    if not all(isinstance(part, dict) for part in parts) or not parts:
        raise UnsupportedTokenizer("it has no byte-level pre-tokenizer")
    *splits, last = parts
    if last.get("type") != "ByteLevel" or last.get("add_prefix_space") is True:
        raise UnsupportedTokenizer("it is not byte-level")
    if len(splits) != 1 or last.get("use_regex") is not False:
        raise UnsupportedTokenizer("it does not split in one step")
    (split,) = splits
    pattern = split.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    isolated = split.get("behavior") in ("Isolated", "isolated") and split.get("invert") is not True
    if split.get("type") != "Split" or not isinstance(regex, str) or not isolated:
        raise UnsupportedTokenizer("it splits in a way that is not understood")
    return regex


def _ranks(model: Any) -> dict[bytes, int]:
    """Bytes of each token to its rank: the 256 bytes, then the merges in their order."""
    if not isinstance(model, dict) or model.get("type") != "BPE" or not isinstance(model.get("merges"), list):
        raise UnsupportedTokenizer("it is not BPE")
    if model.get("byte_fallback") is True or model.get("continuing_subword_prefix"):
        raise UnsupportedTokenizer("it is not byte-level")
    letters = _byte_letters()
    ranks = {bytes([byte]): byte for byte in range(256)}
    for merge in model["merges"]:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(pair, list) or len(pair) != 2:
            raise UnsupportedTokenizer("its merges are not pairs")
        try:
            token = bytes(letters[letter] for letter in pair[0] + pair[1])
        except (KeyError, TypeError):
            raise UnsupportedTokenizer("its merges are not byte-level") from None
        ranks.setdefault(token, len(ranks))
    return ranks


def _plain_added_tokens(added: Any) -> list[str]:
    """Added tokens that are not special: text that holds them is one token there."""
    if not isinstance(added, list):
        return []
    tokens = [entry for entry in added if isinstance(entry, dict) and entry.get("special") is not True]
    return list(dict.fromkeys(entry["content"] for entry in tokens if isinstance(entry.get("content"), str)))


def _byte_letters() -> dict[str, int]:
    """The printable letter that represents each byte in a byte-level vocabulary (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + index): byte for index, byte in enumerate(others)}
