"""One running server of each kind: is it ready, its tokenizer, and one timed answer with its counters.

The time of an answer runs from its first token to its last, so reading the prompt is not in it; `tokens` are those after the
first. Every answer has exactly the wanted length: the end-of-text token is ignored and nothing is sampled.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from navigator.model import patterns
from navigator.model.errors import MissingPart
from navigator.model.json_text import read_json
from navigator.model.text import safe_line

if TYPE_CHECKING:
    import httpx

    from navigator.lab.speculation.plan import EngineName


_WINDOW = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: tokens after the first, seconds for them, the ids where the server gives them, and what was counted.

    `marks` are the tokens and seconds so far at each event of its stream.
    """

    tokens: int
    seconds: float
    ids: tuple[int, ...]
    counts: Counts
    marks: tuple[tuple[int, float], ...] = ()

    def windows(self) -> list[tuple[int, float, float]]:
        """The answer in pieces of some 16 tokens: tokens, accepted drafts, seconds.

        Where each event of the stream is a round, rounds are counted; else they are shared out evenly.
        """
        accepted = self.counts.accepted
        rounds = self.tokens - (accepted or 0)
        counted = abs(len(self.marks) - rounds) <= max(2, rounds // 20)
        found: list[tuple[int, float, float]] = []
        events, (tokens, seconds) = 0, (0, 0.0)
        for mark, following in zip(self.marks, (*self.marks[1:], None), strict=True):
            events += 1
            made, took = mark[0] - tokens, mark[1] - seconds
            # Tokens of one round may come in several events of the same time: they stay together.
            whole = following is None or (made >= _WINDOW and following[1] > mark[1])
            if took > 0 and whole:
                passes = events if counted and accepted else made * rounds / self.tokens
                found.append((made, round(max(0.0, made - passes), 2), round(took, 6)))
                events, (tokens, seconds) = 0, mark
        return found


class Server:
    """A server that has OpenAI's list of models. `version_at`: the path and the name under which it says its version."""

    version_at: tuple[str, str] = ("/version", "version")

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def version(self) -> str:
        """Of the server; "" where it does not say."""
        path, name = self.version_at
        response = self._http.get(path)
        found = read_json(response.content) if response.status_code == 200 else None
        return safe_line(str(found.get(name, ""))) if isinstance(found, dict) else ""

    def tokenize(self, text: str) -> list[int]:
        """The ids of a text, without special tokens."""
        return self._ids({"model": self._model, "prompt": text, "add_special_tokens": False})

    def _ids(self, body: dict[str, Any]) -> list[int]:
        found = read_json(_checked(self._http.post("/tokenize", json=body)).content)
        ids = found.get("tokens") if isinstance(found, dict) else None
        if not isinstance(ids, list) or not all(isinstance(each, int) for each in ids):
            raise _strange("tokens")
        return ids

    @cached_property
    def _model(self) -> str:
        listed = read_json(_checked(self._http.get("/v1/models")).content)
        return str(listed["data"][0]["id"])

    def answer(self, prompt: list[int], tokens: int) -> Answer:
        """Write exactly so many tokens after a prompt.

        Raises:
            MissingPart: the server does not answer as this kind does.
        """
        raise NotImplementedError


class Llama(Server):
    """llama.cpp's llama-server."""

    version_at = ("/props", "build_info")

    def tokenize(self, text: str) -> list[int]:
        return self._ids({"content": text})

    def answer(self, prompt: list[int], tokens: int) -> Answer:
        body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": True, "stream": True}
        asked = body | {"cache_prompt": False, "return_tokens": True, "timings_per_token": True}
        marks: list[tuple[int, float]] = []
        ids: list[int] = []
        timings: dict[str, Any] = {}
        for _, chunk in _streamed(self._http, "/completion", asked):
            timings = chunk.get("timings") or timings
            ids += chunk.get("tokens") or []
            if int(timings.get("predicted_n", 0)) > 1:
                marks.append((int(timings["predicted_n"]) - 1, float(timings["predicted_ms"]) / 1000))
        if not marks:
            raise _strange("timings")
        counts = Counts(_int(timings.get("draft_n")), _int(timings.get("draft_n_accepted")))
        return Answer(*marks[-1], tuple(ids), counts, tuple(marks))


class Sglang(Server):
    """SGLang's own API, whose `meta_info` counts."""

    version_at = ("/server_info", "version")

    def answer(self, prompt: list[int], tokens: int) -> Answer:
        sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True}
        body = {"input_ids": prompt, "sampling_params": sampling, "stream": True}
        moments: list[tuple[int, float]] = []
        meta: dict[str, Any] = {}
        ids: list[int] = []
        for moment, chunk in _streamed(self._http, "/generate", body):
            meta = chunk.get("meta_info") or meta
            ids += chunk.get("output_ids") or []
            moments.append((int(meta.get("completion_tokens", 0)), moment))
        marks = _marks(moments, "meta_info.completion_tokens")
        # Streams carry either the whole answer so far or what is new; the last ids are the answer's in both cases.
        return Answer(*marks[-1], tuple(ids[-moments[-1][0] :]), sglang_meta(meta), marks)


class Vllm(Server):
    """vLLM's OpenAI-compatible API; its counters are on /metrics."""

    def answer(self, prompt: list[int], tokens: int) -> Answer:
        before = self._metrics()
        usage = {"include_usage": True, "continuous_usage_stats": True}
        body = {"model": self._model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
        asked = body | {"ignore_eos": True, "stream": True, "stream_options": usage}
        moments = [
            (int((chunk.get("usage") or {}).get("completion_tokens", 0)), moment)
            for moment, chunk in _streamed(self._http, "/v1/completions", asked)
        ]
        marks = _marks(moments, "usage.completion_tokens")
        return Answer(*marks[-1], (), since(self._metrics(), before), marks)

    def _metrics(self) -> Counts:
        return vllm_metrics(_checked(self._http.get("/metrics")).text)


ENGINES: dict[EngineName, type[Server]] = {"llama.cpp": Llama, "sglang": Sglang, "vllm": Vllm}
"""By the kind that a plan names; one more is one class and one line."""


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


def _marks(moments: Sequence[tuple[int, float]], name: str) -> tuple[tuple[int, float], ...]:
    """Tokens after the first and seconds since it, at each event that brought tokens; a closing one repeats the sum later."""
    found: list[tuple[int, float]] = []
    for written, moment in moments:
        if written > (found[-1][0] if found else 0):
            found.append((written, moment))
    if len(found) < 2:
        raise _strange(name)
    return tuple((written - found[0][0], moment - found[0][1]) for written, moment in found[1:])


def _checked(response: httpx.Response) -> httpx.Response:
    if response.status_code != 200:
        raise MissingPart(
            f"The server answers {response.status_code} to {response.request.url.path}: {response.text[:200]}",
            hint="Its log is beside the results.",
        )
    return response


def _strange(what: str) -> MissingPart:
    return MissingPart(
        f"The server's answer has no {what}.",
        hint="Is `kind` in the plan the kind of server that the command starts?",
    )


# What each engine counts about one answer, in the same words. Pure: text and JSON in, counts out.


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters of one answer: drafts that were verified and kept, verifying passes, and how often a draft was kept up to each
    position."""

    drafted: int | None = None
    accepted: int | None = None
    rounds: int | None = None
    positions: tuple[int, ...] = ()


# SGLang


def sglang_meta(meta: Mapping[str, Any]) -> Counts:
    """The counters in `meta_info` of an answer of /generate.

    `spec_num_proposed_drafts` is rounds × (draft tokens − 1), so a draft that was cut short counts as whole.
    """
    histogram = meta.get("spec_correct_drafts_histogram")
    return Counts(
        drafted=_int(meta.get("spec_num_proposed_drafts")),
        accepted=_int(meta.get("spec_num_correct_drafts")),
        rounds=_int(meta.get("spec_verify_ct")),
        positions=_positions(histogram) if isinstance(histogram, list) else (),
    )


def _positions(histogram: Sequence[int]) -> tuple[int, ...]:
    """From "rounds that kept exactly k drafts" to "rounds that kept at least k", for k from 1."""
    return tuple(sum(histogram[kept:]) for kept in range(1, len(histogram)))


# vLLM

_METRIC = patterns.compile(
    r"^vllm:spec_decode_(?P<name>num_drafts|num_draft_tokens|num_accepted_tokens|num_accepted_tokens_per_pos)_total"
    r"(?:\{(?P<labels>[^}]*)\})?\s+(?P<value>[\d.eE+]+)",
    patterns.MULTILINE,
)


def vllm_metrics(text: str) -> Counts:
    """The counters on /metrics, which add up over the life of the server and over its engines."""
    totals = {"num_drafts": 0.0, "num_draft_tokens": 0.0, "num_accepted_tokens": 0.0}
    positions: dict[int, float] = {}
    seen = False
    for found in _METRIC.finditer(text):
        seen = True
        value = float(found["value"])
        if found["name"] == "num_accepted_tokens_per_pos":
            position = patterns.search(r'position="(\d+)"', found["labels"] or "")
            if position is not None:
                positions[int(position[1])] = positions.get(int(position[1]), 0.0) + value
        else:
            totals[found["name"]] += value
    if not seen:
        return Counts()
    return Counts(
        drafted=int(totals["num_draft_tokens"]),
        accepted=int(totals["num_accepted_tokens"]),
        rounds=int(totals["num_drafts"]),
        positions=tuple(int(positions[place]) for place in sorted(positions)),
    )


def since(now: Counts, before: Counts) -> Counts:
    """What was added to counters that run for the whole life of a server."""

    def less(one: int | None, other: int | None) -> int | None:
        return None if one is None else one - (other or 0)

    width = len(now.positions)
    earlier = (*before.positions, *[0] * width)[:width]
    return Counts(
        drafted=less(now.drafted, before.drafted),
        accepted=less(now.accepted, before.accepted),
        rounds=less(now.rounds, before.rounds),
        positions=tuple(one - other for one, other in zip(now.positions, earlier, strict=True)),
    )


def _int(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None
