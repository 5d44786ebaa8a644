"""`[swap]` of the settings: which strategy, and what each strategy has to know."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from navigator.config.read_ahead_settings import ReadAheadSettings
from navigator.config.section import Seconds, Section
from navigator.config.systemd_settings import SystemdSettings

SwapStrategyName = Literal["systemd", "sleep", "managed", "resident", "adapter", "command", "rehearsal"]

_Mib = Annotated[int, Field(ge=0)]


class SleepSettings(Section):
    """`[swap.sleep]`: both servers run; one holds the GPU's memory, the other has let go of it.

    `generator_mib` and `reviewer_mib` are how much GPU memory each needs to wake, for servers on this machine; 0: as much
    as it was seen to take the last time.
    """

    engine: Literal["auto", "sglang", "vllm"] = "auto"
    tags: tuple[Literal["weights", "kv_cache", "cuda_graph"], ...] = ("weights", "kv_cache", "cuda_graph")
    level: Literal[1] = 1
    drain_seconds: Seconds = 120.0
    release_seconds: Seconds = 60.0
    wake_seconds: Seconds = 180.0
    generator_mib: _Mib = 0
    reviewer_mib: _Mib = 0


class ManagedSettings(Section):
    """`[swap.managed]`: Ollama, llama-swap or llama.cpp's router, which load what they are asked for."""

    server: Literal["auto", "ollama", "llama-swap", "llama.cpp"] = "auto"
    drain_seconds: Seconds = 120.0
    load_seconds: Seconds = 600.0


class CommandSettings(Section):
    """`[swap.command]`: a program that swaps, and one that says what is loaded.

    In both lists `{role}` stands for "generator" or "reviewer"; a swap without it gets the role as its last word.
    `status` prints the role on its first line; without it the servers are asked for their models.
    """

    argv: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    seconds: Seconds = 900.0
    status_seconds: Seconds = 10.0
    drain_seconds: Seconds = 120.0


class AdapterSettings(Section):
    """`[swap.adapter]`: one base model, two LoRA adapters; where each lies, if the server has yet to load it."""

    generator_path: str = ""
    reviewer_path: str = ""
    load_seconds: Seconds = 120.0


class SwapSettings(Section):
    """How the GPU changes hands. There is no default strategy: a wrong guess would stop a service."""

    strategy: SwapStrategyName | None = None
    script: str = ""
    systemd: SystemdSettings = SystemdSettings()
    sleep: SleepSettings = SleepSettings()
    managed: ManagedSettings = ManagedSettings()
    command: CommandSettings = CommandSettings()
    adapter: AdapterSettings = AdapterSettings()
    read_ahead: ReadAheadSettings = ReadAheadSettings()

    @model_validator(mode="after")
    def _command_named(self) -> Self:
        if self.strategy == "command" and not (self.script or self.command.argv):
            raise ValueError('strategy "command" needs argv under [swap.command], the command to run')
        return self
