"""Model profiles (`swap/profiles/*.toml`): two models for one card, with the flags of their servers; what a model's shape is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, TypeAdapter, ValidationError

from navigator.model.errors import ConfigError, UsageError
from navigator.model.json_text import first_misfit, read_json, read_toml
from navigator.model.states import Role


class Shape(BaseModel):
    """What of a model's config.json decides about memory. `source` says where the figures are from."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str
    layers: int
    full_attention_layers: int
    kv_heads: int
    head_dim: int
    linear_value_heads: int = 0
    linear_key_heads: int = 0
    linear_head_dim: int = 128
    conv_kernel: int = 4

    def kv_bytes_per_token(self, element_bytes: int = 2) -> int:
        """Keys and values of one token; 2 bytes an element for 16-bit floats, 1 for fp8."""
        return 2 * self.full_attention_layers * self.kv_heads * self.head_dim * element_bytes

    def state_bytes(self, *, state_element: int = 4, conv_element: int = 2) -> int:
        """The recurrent state of one request, which does not grow with its length; 0 without linear attention."""
        if not self.linear_value_heads:
            return 0
        linear = self.layers - self.full_attention_layers
        values = self.linear_value_heads * self.linear_head_dim
        recurrent = values * self.linear_head_dim * state_element
        # The convolution runs over queries, keys and values and remembers kernel - 1 steps.
        width = values + 2 * self.linear_key_heads * self.linear_head_dim
        return linear * (recurrent + width * (self.conv_kernel - 1) * conv_element)


def shape_from_config(path: Path) -> Shape | None:
    """The shape that a model's config.json states; None where it is not there or of an unknown form."""
    try:
        config: dict[str, Any] = read_json(path.read_bytes())
        config = config.get("text_config", config)
        layers = int(config["num_hidden_layers"])
        heads = int(config["num_attention_heads"])
        return Shape(
            source=str(path),
            layers=layers,
            full_attention_layers=_full_layers(config, layers),
            kv_heads=int(config.get("num_key_value_heads", heads)),
            head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
            linear_value_heads=int(config.get("linear_num_value_heads", 0)),
            linear_key_heads=int(config.get("linear_num_key_heads", 0)),
            linear_head_dim=int(config.get("linear_value_head_dim", 128)),
            conv_kernel=int(config.get("linear_conv_kernel_dim", 4)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        return None


def _full_layers(config: dict[str, Any], layers: int) -> int:
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        return sum(kind == "full_attention" for kind in kinds)
    interval = config.get("full_attention_interval")
    return layers // int(interval) if interval else layers


_Positive = Annotated[int, Field(gt=0)]

WantedFlags = dict[str, str | bool]
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
    flags: WantedFlags = {}


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
