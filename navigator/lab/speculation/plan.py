"""A plan of measurements: which server, which methods and lengths, which prompts, how many starts."""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from navigator.model.errors import ConfigError, UsageError
from navigator.model.json_text import first_misfit, read_toml

EngineName = Literal["sglang", "vllm", "llama.cpp"]
_Words = Annotated[list[str], Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Engine(_Table):
    """The server that is measured.

    Attributes:
        kind: whose counters it has.
        command: what starts it; `{port}` is filled in. It must listen on 127.0.0.1.
        target: name of the model in the results; or several, each with what `{target}` stands for in the command.
        about: machine and models, in the owner's words.
        random_weights: the models are not trained; every result says so.
        ready_seconds: longest wait for the server.
    """

    kind: EngineName
    command: _Words
    target: str | dict[str, str]
    about: str = ""
    random_weights: bool = False
    ready_seconds: float = 900.0


class Method(_Table):
    """One way to draft, at several lengths. `{gamma}` is the length and `{verified}` one more, in the arguments."""

    name: str
    gammas: Annotated[list[Annotated[int, Field(gt=0, le=64)]], Field(min_length=1)]
    arguments: _Words


class Prompts(_Table):
    """The prompts: one text file per kind, cut to these token counts by the server's tokenizer."""

    kinds: Annotated[dict[str, str], Field(min_length=1)]
    lengths: Annotated[list[Annotated[int, Field(gt=0)]], Field(min_length=1)]
    answer_tokens: Annotated[int, Field(ge=16)] = 256


class Design(_Table):
    """How often the server is started for each method and length."""

    blocks: Annotated[int, Field(gt=0)] = 6


class Plan(_Table):
    """`digest` identifies the plan; results of another plan are not resumed. `texts`: the prompt text of each kind."""

    engine: Engine
    method: Annotated[list[Method], Field(min_length=1)]
    prompts: Prompts
    design: Design = Design()
    digest: str = ""
    texts: dict[str, str] = {}

    @model_validator(mode="after")
    def _names_differ(self) -> Plan:
        names = [method.name for method in self.method]
        if len(set(names)) < len(names):
            raise ValueError("two methods have the same name")
        if not any("{port}" in word for word in self.engine.command):
            raise ValueError("the command has no {port}")
        return self

    @property
    def arms(self) -> list[SpeculationArm]:
        """For each target, no speculation first, then every method at every length."""
        target = self.engine.target
        ways: list[tuple[str, int, list[str]]] = [("", 0, [])]
        ways += [(method.name, gamma, method.arguments) for method in self.method for gamma in method.gammas]
        return [
            SpeculationArm(
                *(name, method, gamma),
                command=tuple(word.replace("{target}", model) for word in self.engine.command),
                arguments=tuple(_with_gamma(word, gamma).replace("{target}", model) for word in arguments),
            )
            for name, model in (target if isinstance(target, dict) else {target: target}).items()
            for method, gamma, arguments in ways
        ]

    def order(self) -> list[tuple[int, SpeculationArm]]:
        """Every start: block by block, the arms of a block in an order of its own, always the same one."""
        starts = []
        for block in range(self.design.blocks):
            arms = self.arms
            random.Random(block).shuffle(arms)
            starts += [(block, arm) for arm in arms]
        return starts

    @property
    def answers_per_start(self) -> int:
        """Answers that are measured in one start."""
        return len(self.prompts.kinds) * len(self.prompts.lengths)


@dataclass(frozen=True, slots=True)
class SpeculationArm:
    """One configuration to measure: a target with a method at a draft length, or without speculation."""

    target: str
    method: str
    gamma: int
    command: tuple[str, ...]
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.target}, {f'{self.method} γ={self.gamma}' if self.gamma else 'no speculation'}"

    @property
    def key(self) -> tuple[str, str, int]:
        """As its rows name it."""
        return self.target, self.method, self.gamma

    @property
    def model(self) -> str:
        """What SGLang's command names as the model; "" where it names none."""
        return next((two for one, two in itertools.pairwise(self.command) if one == "--model-path"), "")


def _with_gamma(word: str, gamma: int) -> str:
    return word.replace("{gamma}", str(gamma)).replace("{verified}", str(gamma + 1))


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file. Files of prompts are taken from its folder.

    Raises:
        UsageError: there is no such file.
        ConfigError: it is no plan; the message names the key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        plan = Plan.model_validate(read_toml(text))
    except FileNotFoundError:
        raise UsageError(f"There is no plan {path}.", hint="docs/lab.md shows one.") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_misfit(error)}.", hint="docs/lab.md shows a plan.") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", hint="Correct the file.") from error
    digest, texts = hashlib.sha256(text.encode()), {}
    for kind, name in plan.prompts.kinds.items():
        try:
            content = (path.parent / name).read_bytes()
        except OSError as error:
            raise ConfigError(f"The prompt file {name} cannot be read: {error.strerror}.") from error
        digest.update(content)
        texts[kind] = content.decode("utf-8", "replace")
    return plan.model_copy(update={"digest": digest.hexdigest()[:16], "texts": texts})
