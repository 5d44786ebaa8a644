"""The settings as frozen models. The defaults are the documented ones; a file changes only what it names."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator, model_validator

from navigator.config.routing import RoutingSettings
from navigator.config.section import VARIABLE_NAME, Positive, Section
from navigator.config.swap_settings import SwapSettings
from navigator.domain.errors import UsageError
from navigator.domain.states import Role

TIME_SCALE_VARIABLE = "NAVIGATOR_TIME_SCALE"

LandingName = Literal["branch", "current"]

_Text = Annotated[str, StringConstraints(min_length=1)]


class ServerSettings(Section):
    """One model server. `api_key_env` is a variable's name; `tokenizer` a folder holding tokenizer.json."""

    model: str
    base_url: str = "http://127.0.0.1:30000"
    api_key_env: str = ""
    admin_key_env: str = ""
    max_inflight: Positive = 8
    context_tokens: Positive = 131072
    tokenizer: str = ""
    temperature: float = Field(default=0.2, ge=0, le=2)
    top_p: float = Field(default=0.9, gt=0, le=1)
    max_tokens: Positive = 5000
    thinking: bool = False
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, value: str) -> str:
        if not value:
            return value
        try:
            parts = urlsplit(value)
            port_fits = parts.port is None or parts.port > 0
        except ValueError:
            raise ValueError("must be a URL such as http://127.0.0.1:30000") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or not port_fits:
            raise ValueError("must start with http:// or https:// and name a host")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must not hold a name or a password; name a variable in api_key_env instead")
        if parts.query or parts.fragment:
            raise ValueError("must not hold a query or a fragment")
        return value.rstrip("/")

    @field_validator("api_key_env", "admin_key_env")
    @classmethod
    def _variable_name(cls, value: str) -> str:
        if value and not VARIABLE_NAME.fullmatch(value):
            raise ValueError(
                "must be the name of an environment variable; the key itself never stands in the file"
            )
        return value

    @model_validator(mode="after")
    def _answer_fits(self) -> Self:
        if self.max_tokens >= self.context_tokens:
            raise ValueError("max_tokens must be smaller than context_tokens")
        return self


class GeneratorSettings(ServerSettings):
    """The fast model, which writes. `self_review`: it reads each change of its own, too; that decides nothing."""

    model: _Text = "Qwen/Qwen3.5-35B-A3B-GPTQ-Int4"
    base_url: _Text = "http://127.0.0.1:30000"
    self_review: bool = False


class ReviewerSettings(ServerSettings):
    """The strong model, which reviews."""

    model: _Text = "Qwen/Qwen3.5-122B-A10B-GPTQ-Int4"
    base_url: _Text = "http://127.0.0.1:30000"


class FinalSettings(ServerSettings):
    """An optional cloud model that reads last; once enabled it needs a model and an address."""

    model: str = ""
    base_url: str = ""
    enabled: bool = False

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.enabled and not (self.model and self.base_url):
            raise ValueError("needs a model and a base_url when it is enabled")
        return self


class BatchSettings(Section):
    """When a review is due, and how many revisions may follow. Minutes may be fractions."""

    target: Positive = 30
    max_wait_minutes: float = Field(default=30.0, ge=0, allow_inf_nan=False)
    quiet_minutes: float = Field(default=3.0, ge=0, allow_inf_nan=False)
    revisions: int = Field(default=2, ge=0, le=2)


class ChecksSettings(Section):
    """Limits of the sandbox. `unsandboxed` runs a project's tests without one: an explicit choice."""

    timeout_seconds: Positive = 300
    memory_mb: Positive = 4096
    unsandboxed: bool = False


class ProjectEntry(Section):
    """One `[[project]]`; it overrides the stored project with the same path.

    `base` is a branch, a tag, "" for the branch that HEAD is on, or "worktree" for the checkout as it stands.
    """

    path: _Text
    name: str = ""
    base: str = ""
    landing: LandingName = "branch"
    check: str = ""
    check_mounts: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    conventions: str = "AGENTS.md"

    @field_validator("path")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not value.startswith(("/", "~")):
            raise ValueError("must be an absolute path, or start with ~")
        return value

    @field_validator("base")
    @classmethod
    def _names_a_base(cls, value: str) -> str:
        if value.startswith("-") or ".." in value or not value.isprintable() or " " in value:
            raise ValueError('must be the name of a branch, or "worktree" for the checkout as it stands')
        return value

    @property
    def location(self) -> Path:
        """The path with `~` and links resolved: what stored projects are compared with."""
        return Path(self.path).expanduser().resolve()

    @property
    def display_name(self) -> str:
        """The given name, or the folder's."""
        return self.name or self.location.name


class Settings(Section):
    """Everything the file may say. `source` is the file that was read, None where only defaults hold."""

    generator: GeneratorSettings = GeneratorSettings()
    reviewer: ReviewerSettings = ReviewerSettings()
    final: FinalSettings = FinalSettings()
    routing: RoutingSettings = RoutingSettings()
    swap: SwapSettings = SwapSettings()
    batch: BatchSettings = BatchSettings()
    checks: ChecksSettings = ChecksSettings()
    project: tuple[ProjectEntry, ...] = ()
    source: Path | None = None

    @model_validator(mode="after")
    def _projects_differ(self) -> Self:
        paths: set[Path] = set()
        names: set[str] = set()
        for entry in self.project:
            if entry.location in paths:
                raise ValueError(f"project: {entry.path} stands twice")
            if entry.display_name in names:
                raise ValueError(
                    f"project: the name {entry.display_name} stands twice; give one of them another"
                )
            paths.add(entry.location)
            names.add(entry.display_name)
        return self

    def server(self, role: Role) -> ServerSettings:
        """The settings of the server that plays `role`."""
        return {Role.GENERATOR: self.generator, Role.REVIEWER: self.reviewer, Role.FINAL: self.final}[role]


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings file.

    Args:
        path: the file; by default what `paths.config_path` says. A missing file means all defaults.

    Raises:
        ConfigError: the file cannot be read, is no TOML, holds an unknown key or a value that does not fit;
            the message names the file, the line where it can be told, and the key.
    """
    from navigator.config.reading import read_settings

    return read_settings(path)


def describe(settings: Settings) -> dict[str, Any]:
    """What `navigator config show` prints: every value, and whether the file or the default gave it.

    Returns:
        `{"file": …, "generator": {key: {"value": …, "from": "file" | "default"}}, …, "projects": […]}`.
        A server's key is never among the values: settings hold the names of variables only.
    """
    shown: dict[str, Any] = {"file": str(settings.source) if settings.source else None}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Section):
            shown[name] = _described(value)
    shown["projects"] = [_described(entry) for entry in settings.project]
    return shown


def _described(table: Section) -> dict[str, Any]:
    """Each key of a table; a table within it is described in the same way under its own name."""
    shown: dict[str, Any] = {}
    for key, value in table.model_dump(mode="json").items():
        inner = getattr(table, key)
        origin = "file" if key in table.model_fields_set else "default"
        shown[key] = _described(inner) if isinstance(inner, Section) else {"value": value, "from": origin}
    return shown


def time_scale(flag: float | None) -> float:
    """The factor on every simulated duration: the flag, else `NAVIGATOR_TIME_SCALE`, else 1.

    Raises:
        UsageError: not a finite number of at least 0.
    """
    named = os.environ.get(TIME_SCALE_VARIABLE, "")
    where = "--time-scale" if flag is not None else TIME_SCALE_VARIABLE
    if flag is None and not named:
        return 1.0
    try:
        value = float(named) if flag is None else flag
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        shown = named if flag is None else flag
        raise UsageError(f"{where} is {shown!r}.", hint="It must be a number of at least 0, e.g. 0.01.")
    return value
