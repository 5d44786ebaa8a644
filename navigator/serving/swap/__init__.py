"""Ways of giving the GPU to a role, one file each, behind one protocol (`base.SwapStrategy`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from navigator.domain.errors import MissingPart

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.serving.swap.base import SwapStrategy

AVAILABLE = {
    "systemd": "each role is a systemd unit, and a script makes one of them run at a time",
    "sleep": "both servers run, and one lets go of the GPU while the other works (SGLang, vLLM)",
    "managed": "one server loads the model it is asked for (Ollama, llama-swap, llama.cpp's router)",
    "command": "a program of yours changes the model",
    "adapter": "one base model with a LoRA adapter for each role, picked by name",
    "resident": "both servers are up at once, each at its base_url",
    "rehearsal": "the embedded stand-in plays both servers; what it writes lands only in the demo's repositories",
}
"""The strategies that work, and what each is for."""


def make_strategy(
    settings: Settings,
    paths: StatePaths,
    time_scale: float = 1.0,
    seed: int = 0,
    *,
    fault_rate: float | None = None,
    in_flight: Callable[[], Iterable[str]] = tuple,
) -> SwapStrategy:
    """The strategy that `[swap] strategy` names.

    Args:
        settings: the whole settings.
        paths: where a strategy may keep what it has to remember.
        time_scale: factor on simulated time; only the rehearsal's.
        seed: of the rehearsal's answers.
        fault_rate: share of planted faults in the rehearsal's answers, None for its own.
        in_flight: the ids of Navigator's own requests that run right now; for strategies that can abort them by id.

    Raises:
        MissingPart: none is named, or one that is not here; the hint says how to choose.
    """
    chosen = settings.swap.strategy
    if chosen == "resident":
        from navigator.serving.swap.strategies.resident import ResidentStrategy

        return ResidentStrategy(settings)
    if chosen == "systemd":
        from navigator.serving.swap.strategies.systemd import SystemdStrategy

        return SystemdStrategy(settings, in_flight=in_flight)
    if chosen == "rehearsal":
        from navigator.serving.swap.strategies.rehearsal import RehearsalStrategy

        return RehearsalStrategy(paths.rehearsal, time_scale=time_scale, seed=seed, fault_rate=fault_rate)
    if chosen == "sleep":
        from navigator.serving.swap.strategies.sleep import SleepStrategy

        return SleepStrategy(settings, paths.root / "sleep.json", in_flight=in_flight)
    if chosen == "managed":
        from navigator.serving.swap.strategies.managed import ManagedStrategy

        return ManagedStrategy(settings, in_flight=in_flight)
    if chosen == "command":
        from navigator.serving.swap.strategies.command import CommandStrategy

        return CommandStrategy(settings, in_flight=in_flight)
    if chosen == "adapter":
        from navigator.serving.swap.strategies.adapter import AdapterStrategy

        return AdapterStrategy(settings)
    where = settings.source or "the settings file (`navigator config path` names it)"
    hint = f'Set strategy under [swap] in {where}, e.g. strategy = "resident". Here are: {_listed()}.'
    raise MissingPart(
        "No swap strategy is chosen, so Navigator does not know how to change models.", hint=hint
    )


def _listed() -> str:
    return "; ".join(f"{name} ({meaning})" for name, meaning in AVAILABLE.items())
