"""`[swap.systemd]` of the settings: two units and one script."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from navigator.config.section import Section

_Seconds = Annotated[float, Field(gt=0, lt=1_000_000, allow_inf_nan=False)]
_Mib = Annotated[int, Field(ge=0, lt=100_000_000)]
_Unit = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9:_.@][A-Za-z0-9:_.@-]*\.service$")]


class SystemdSettings(Section):
    """`[swap.systemd]`: each role is a unit. swap/README.md explains every value; these win over swap.conf.

    Video memory in MiB, 0: not looked at. `gpu` as `nvidia-smi -i` takes it, "": the sum of all cards.
    """

    scope: Literal["user", "system"] = "user"
    generator_unit: _Unit = "navigator-generator.service"
    reviewer_unit: _Unit = "navigator-reviewer.service"
    generator_vram_mib: _Mib = 0
    reviewer_vram_mib: _Mib = 0
    gpu: str = ""
    lock_seconds: _Seconds = 120.0
    drain_seconds: _Seconds = 120.0
    abort_seconds: _Seconds = 10.0
    stop_seconds: _Seconds = 75.0
    kill_seconds: _Seconds = 15.0
    release_seconds: _Seconds = 60.0
    start_seconds: _Seconds = 30.0
    load_seconds: _Seconds = 900.0
    health_seconds: _Seconds = 300.0
    verify_seconds: _Seconds = 60.0

    @model_validator(mode="after")
    def _units_differ(self) -> Self:
        if self.generator_unit == self.reviewer_unit:
            raise ValueError("generator_unit and reviewer_unit must be two units")
        return self

    @property
    def longest(self) -> float:
        """Seconds after which a swap and its way back have ended, whatever happened."""
        there = self.drain_seconds + 2 * self.abort_seconds + 2 * (self.stop_seconds + self.kill_seconds)
        up = (
            self.release_seconds
            + self.start_seconds
            + self.load_seconds
            + self.health_seconds
            + self.verify_seconds
        )
        return self.lock_seconds + 2 * (there + 2 * up) + 120.0
