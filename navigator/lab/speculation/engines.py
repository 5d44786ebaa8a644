"""One running server of each kind: is it ready, its tokenizer, and one timed answer with its counters.

The time of an answer runs from its first token to its last, so reading the prompt is not in it; `tokens` are those after the
first. Every answer has exactly the wanted length: the end-of-text token is ignored and nothing is sampled.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from navigator.model.errors import MissingPart
from navigator.model.json_text import read_json
from navigator.model.text import safe_line

if TYPE_CHECKING:
    import httpx

    from navigator.lab.speculation.plan import EngineName


@dataclass(frozen=True, slots=True)
class Counts:
    """What the engine counted about one answer: drafts that were verified and kept, verifying passes, and how often a draft was
    kept up to each position."""

    drafted: int | None = None
    accepted: int | None = None
    rounds: int | None = None
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: tokens after the first, seconds for them, the ids where the server gives them, and what was counted."""

    tokens: int
    seconds: float
    ids: tuple[int, ...]
    counts: Counts


class Llama:
    """llama.cpp's llama-server."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def version(self) -> str:
        """Of the server; "" where it does not say."""
        return _server_word(self._http, "/props", "build_info")

    def tokenize(self, text: str) -> list[int]:
        """The ids of a text, without special tokens."""
        return _ids(_posted(self._http, "/tokenize", {"content": text}), "tokens")

    def answer(self, prompt: list[int], tokens: int) -> Answer:
        """Write exactly so many tokens after a prompt.

        Raises:
            MissingPart: the server does not answer as this kind does.
        """
        body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": True, "stream": True}
        asked = body | {"cache_prompt": False, "return_tokens": True, "timings_per_token": True}
        ids: list[int] = []
        timings: dict[str, Any] = {}
        for _, chunk in _streamed(self._http, "/completion", asked):
            timings = chunk.get("timings") or timings
            ids += chunk.get("tokens") or []
        if int(timings.get("predicted_n", 0)) < 2:
            raise _strange("timings")
        counts = Counts(_int(timings.get("draft_n")), _int(timings.get("draft_n_accepted")))
        seconds = float(timings["predicted_ms"]) / 1000
        return Answer(int(timings["predicted_n"]) - 1, seconds, tuple(ids), counts)


class Sglang:
    """SGLang's own API, whose `meta_info` counts."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._model = _served_model(http)

    def version(self) -> str:
        """As `Llama`."""
        return _server_word(self._http, "/server_info", "version")

    def tokenize(self, text: str) -> list[int]:
        """As `Llama`."""
        body = {"model": self._model, "prompt": text, "add_special_tokens": False}
        return _ids(_posted(self._http, "/tokenize", body), "tokens")

    def answer(self, prompt: list[int], tokens: int) -> Answer:
        """As `Llama`."""
        sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
        body = {"input_ids": prompt, "sampling_params": sampling, "stream": True}
        moments: list[tuple[int, float]] = []
        meta: dict[str, Any] = {}
        ids: list[int] = []
        for moment, chunk in _streamed(self._http, "/generate", body):
            meta = chunk.get("meta_info") or meta
            ids += chunk.get("output_ids") or []
            moments.append((int(meta.get("completion_tokens", 0)), moment))
        first = next((moment for moment in moments if moment[0]), (0, 0.0))
        # A closing event repeats the sum later.
        last = next((moment for moment in moments if moment[0] == moments[-1][0]), first)
        if last[0] <= first[0]:
            raise _strange("meta_info.completion_tokens")
        # Streams carry either the whole answer so far or what is new; the last ids are the answer's in both cases.
        whole = tuple(ids[-moments[-1][0] :])
        return Answer(last[0] - first[0], last[1] - first[1], whole, sglang_meta(meta))


def sglang_meta(meta: Mapping[str, Any]) -> Counts:
    """The counters in `meta_info` of an answer of /generate; names of two generations of SGLang.

    `spec_num_proposed_drafts` is rounds × (draft tokens − 1), so a draft that was cut short counts as whole.
    """
    histogram = meta.get("spec_correct_drafts_histogram") or meta.get("spec_accept_histogram") or ()
    return Counts(
        drafted=_int(meta.get("spec_num_proposed_drafts", meta.get("spec_draft_token_num"))),
        accepted=_int(meta.get("spec_num_correct_drafts", meta.get("spec_accept_token_num"))),
        rounds=_int(meta.get("spec_verify_ct")),
        # From "rounds that kept exactly k drafts" to "rounds that kept at least k", for k from 1.
        positions=tuple(sum(histogram[kept:]) for kept in range(1, len(histogram))),
    )


Server = Llama | Sglang
ENGINES: dict[EngineName, type[Server]] = {"llama.cpp": Llama, "sglang": Sglang}
"""By the kind that a plan names; one more is one class and one line."""


def _server_word(http: httpx.Client, path: str, name: str) -> str:
    """A word about itself that a server may give."""
    response = http.get(path)
    found = read_json(response.content) if response.status_code == 200 else None
    return safe_line(str(found.get(name, ""))) if isinstance(found, dict) else ""


def _posted(http: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    found = read_json(_checked(http.post(path, json=body)).content)
    if not isinstance(found, dict):
        raise _strange(path)
    return found


def _streamed(http: httpx.Client, path: str, body: dict[str, Any]) -> Iterator[tuple[float, dict[str, Any]]]:
    """Each event of a stream with the moment of its arrival."""
    # llama.cpp closes a connection after a stream; the next request must not go to it.
    with http.stream("POST", path, json=body, headers={"Connection": "close"}) as response:
        if response.status_code != 200:
            response.read()
            _checked(response)
        for line in response.iter_lines():
            if line.startswith("data:") and (data := line[5:].strip()) != "[DONE]":
                yield time.monotonic(), read_json(data)


def _checked(response: httpx.Response) -> httpx.Response:
    if response.status_code != 200:
        raise MissingPart(
            f"The server answers {response.status_code} to {response.request.url.path}: {response.text[:200]}",
            hint="Its log is beside the results.",
        )
    return response


def _ids(found: dict[str, Any], name: str) -> list[int]:
    ids = found.get(name)
    if not isinstance(ids, list) or not all(isinstance(each, int) for each in ids):
        raise _strange(name)
    return ids


def _served_model(http: httpx.Client) -> str:
    listed = read_json(_checked(http.get("/v1/models")).content)
    return str(listed["data"][0]["id"])


def _strange(what: str) -> MissingPart:
    return MissingPart(
        f"The server's answer has no {what}.",
        hint="Is `kind` in the plan the kind of server that the command starts?",
    )


def _int(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None
