"""Models that others run on a card of some size (`swap/presets.toml`): figures with their sources, none measured here."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, TypeAdapter

from navigator.model.json_text import read_toml

BASIS = "Reported by others, not measured here"
_SHORT = 0.9
"""Cards report somewhat less memory than their name says."""


class Preset(BaseModel):
    """A model for each role. `reported`: figures, each with who gives it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    card_gb: PositiveFloat
    generator: str
    reviewer: str
    how: str
    reported: tuple[str, ...] = Field(min_length=1)

    @property
    def words(self) -> str:
        """The whole entry as a sentence or two."""
        models = (
            self.generator
            if self.reviewer == self.generator
            else f"{self.generator} writes, {self.reviewer} reviews"
        )
        return f"{self.name}: {models}; {self.how}. {BASIS}: {'; '.join(self.reported)}."


def load_presets(folder: Path) -> tuple[Preset, ...]:
    """Every entry of `presets.toml` in a folder."""
    table = read_toml((folder / "presets.toml").read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Preset, ...]).validate_python(table["preset"])


def fitting(presets: tuple[Preset, ...], card_gb: float) -> tuple[Preset, ...]:
    """Those for the largest size that a card has; with less than every entry needs, none."""
    fit = [preset for preset in presets if preset.card_gb * _SHORT <= card_gb]
    most = max((preset.card_gb for preset in fit), default=0.0)
    return tuple(preset for preset in fit if preset.card_gb == most)
