"""Model profiles (`swap/profiles/*.toml`): two models for one card, with the flags of their servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, TypeAdapter, ValidationError

from navigator.model.errors import ConfigError, UsageError
from navigator.model.json_text import first_misfit, read_toml
from navigator.model.states import Role
from navigator.setup.plan import Shape

_Positive = Annotated[int, Field(gt=0)]

FlagTable = dict[str, str | bool]
"""Flag → value. A key `--new|--old` takes the first known name; one ending in `?` is dropped where it is unknown."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ModelProfile(_Table):
    """One role's server.

    Attributes:
        model: the model's name on the hub, or the folder it lies in.
        bootstrap_port: of SGLang's own bookkeeping (0.5.23 and newer); two servers at once need two.
        weights_gb: decimal gigabytes of the weight files, and where the figure is from.
        need_mib: free GPU memory that a start waits for.
        shape: what the memory for contexts is computed from, where the model's config.json is not at hand.
    """

    model: str
    port: _Positive
    bootstrap_port: _Positive
    context_tokens: _Positive
    max_inflight: _Positive
    weights_gb: float = Field(gt=0)
    weights_source: str
    need_mib: _Positive
    shape: Shape
    environment: dict[str, str] = {}
    flags: FlagTable = {}


class ModelPair(_Table):
    """A pair of models for one card. `gpu_mib` is the card's memory as nvidia-smi reports it."""

    name: str
    about: str
    gpu_mib: _Positive
    sources: list[str] = []
    generator: ModelProfile
    reviewer: ModelProfile

    def role(self, role: Role) -> ModelProfile:
        """The profile of the server that plays `role`."""
        return self.generator if role is Role.GENERATOR else self.reviewer


def profile_names(folder: Path) -> list[str]:
    """The names of the profiles in a folder, in order."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_profile(name: str, folder: Path) -> ModelPair:
    """A packaged profile by its name, or one of the user's own by the path of its file.

    Raises:
        UsageError: there is no such profile.
        ConfigError: the file is no profile; the message names the key.
    """
    path = Path(name).expanduser() if name.endswith(".toml") else folder / f"{name}.toml"
    try:
        table = read_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"There is no profile {name}.",
            hint=f"Profiles: {', '.join(profile_names(folder))}; or the path of your own .toml file.",
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", hint="Correct the file.") from error
    try:
        return ModelPair.model_validate(table | {"name": path.stem})
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_misfit(error)}.", hint="Correct the file.") from error


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
