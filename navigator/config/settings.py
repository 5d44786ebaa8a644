"""The settings as frozen models. The string under each key is its documentation: `config show` and docs/settings.md print it."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from navigator.config.file import rehearses, settings_table
from navigator.config.paths import config_path, typed_path
from navigator.config.reading import checked
from navigator.model import patterns
from navigator.model.states import REPORT_KINDS, Complexity, Role, TaskKind

VARIABLE_NAME = patterns.compile(r"[A-Za-z_][A-Za-z0-9_]*")
UNIT_NAME = patterns.compile(r"[A-Za-z0-9:_.@][A-Za-z0-9:_.@-]*\.service")

LandingName = Literal["branch", "current"]
SwapStrategyName = Literal["systemd", "sleep", "managed", "resident", "adapter", "command", "rehearsal"]

Positive = Annotated[int, Field(gt=0)]
_Count = Annotated[int, Field(ge=0)]
_Minutes = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Seconds = Annotated[float, Field(gt=0, lt=1_000_000, allow_inf_nan=False)]
_Variable = Annotated[str, StringConstraints(pattern=rf"^{VARIABLE_NAME.pattern}$")]
_Text = Annotated[str, StringConstraints(min_length=1)]
_Host = Annotated[str, StringConstraints(pattern=r"^((ssh://)?[A-Za-z0-9_][A-Za-z0-9_.@:%\[\]-]*)?$")]
_Unit = Annotated[str, StringConstraints(pattern=rf"^{UNIT_NAME.pattern}$")]


class Section(BaseModel):
    """A table of the file: frozen, closed to unknown keys, and strict (`"8"` is no number)."""

    # hide_input_in_errors: a refused value may be a key that was put in the wrong place.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, defer_build=True
    )


class ServerSettings(Section):
    """One model server: any server with an OpenAI-compatible API."""

    model: str
    """Name of the model, as the server lists it in `/v1/models`."""
    base_url: str = "http://127.0.0.1:30000"
    """Address of the server, with or without `/v1`."""
    api_key_env: str = ""
    """Name of the variable that holds the server's API key; empty: none. SGLang's admin key: that name with `_ADMIN` after it."""
    max_inflight: Positive = 8
    """Upper limit of requests at a time. There are fewer where the server runs fewer at once."""
    context_tokens: Positive = 131072
    """Longest context in tokens, prompt and answer together; not more than the server was started with."""
    tokenizer: str = ""
    """Folder with the model's `tokenizer.json`, for exact token counts; empty: tokens are estimated."""
    temperature: float = Field(default=0.2, ge=0, le=2)
    """Sampling temperature."""
    top_p: float = Field(default=0.9, gt=0, le=1)
    """Nucleus sampling: the share of probability to sample from."""
    max_tokens: Positive = 5000
    """Longest answer in tokens; smaller than `context_tokens`."""
    thinking: bool = False
    """Let the model reason before it answers."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further keys for the body of each request, as this server understands them."""

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

    @field_validator("api_key_env")
    @classmethod
    def _variable_name(cls, value: str) -> str:
        if value and not VARIABLE_NAME.fullmatch(value):
            raise ValueError("must be the name of an environment variable; never write the key into the file")
        return value

    @property
    def admin_key_env(self) -> str:
        """The variable with the key that may abort requests and release memory; "" where none is set: the API key does."""
        name = f"{self.api_key_env}_ADMIN"
        return name if self.api_key_env and os.environ.get(name) else ""

    @model_validator(mode="after")
    def _answer_fits(self) -> Self:
        if self.max_tokens >= self.context_tokens:
            raise ValueError("max_tokens must be smaller than context_tokens")
        return self


_COMPLEX = "complex"


_Kind = Annotated[TaskKind, Field(strict=False)]


class AgentSettings(Section):
    """A coding agent as the writer: any program that speaks the Agent Client Protocol (docs/agents.md). It works in the
    sandbox, on a throw-away copy of the project, with the generator's model."""

    command: tuple[str, ...] = ()
    """Program and arguments, such as `["qwen", "--acp"]`; empty: no agent. `{model}` and `{base_url}` are filled in."""
    env: dict[_Variable, str] = Field(default_factory=dict)
    """Further variables for it; `{model}` and `{base_url}` are filled in. No keys: it can send what it is given to the model."""
    mounts: tuple[str, ...] = ()
    """Further folders that it may read, such as a toolchain."""
    minutes: Annotated[float, Field(gt=0, le=1440, allow_inf_nan=False)] = 20.0
    """Longest run in minutes, for one proposal or revision; then it is ended and its change is dropped."""
    # The limit of minutes ends a run that goes astray.
    # Maximum number of requests to the model in one run.
    requests: ClassVar[int] = 100
    # Far more than a change needs.
    # Memory limit of one agent in megabytes.
    memory_mb: ClassVar[int] = 4096
    # Megabytes that one agent may write.
    disk_mb: ClassVar[int] = 2048
    # More would only wait for each other.
    # Maximum number of agents at a time; all of them share `max_inflight`.
    at_once: ClassVar[int] = 2

    def writes(self, kind: TaskKind) -> bool:
        """Whether it writes the changes of such tasks."""
        return bool(self.command) and kind not in REPORT_KINDS


class GeneratorSettings(ServerSettings):
    """The fast model, which writes."""

    model: _Text = "Qwen/Qwen3.5-35B-A3B-GPTQ-Int4"
    base_url: _Text = "http://127.0.0.1:30000"
    agent: AgentSettings = Field(default_factory=AgentSettings)
    looks: _Count = 6
    """Times that the model that writes may ask to be shown more before it answers, in each round; 0: never (docs/context.md)."""
    # The first prompt is shorter by as much.
    # Tokens that it is shown at most in answer to these, in each round.
    look_tokens: ClassVar[int] = 16000
    logprobs: bool = False
    """Ask the server for the probabilities of its tokens: uncertain changes are reviewed first (docs/figures.md)."""


class ReviewerSettings(ServerSettings):
    """The strong model, which reviews."""

    model: _Text = "Qwen/Qwen3.5-122B-A10B-GPTQ-Int4"
    base_url: _Text = "http://127.0.0.1:30000"
    looks: _Count = 0
    """Times that it may ask to be shown more before it reviews; 0: never."""
    # As the generator's default.
    # Tokens that it is shown at most in answer to these.
    look_tokens: ClassVar[int] = 16000


class FinalSettings(ServerSettings):
    """An optional third model, in the cloud for example, which reviews last."""

    model: str = ""
    base_url: str = ""
    enabled: bool = False
    """Have it review every change last. Without it, it reads only what you escalate, and what touches careful paths."""

    @property
    def configured(self) -> bool:
        """Whether there is a model to send to."""
        return bool(self.model and self.base_url)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.enabled and not self.configured:
            raise ValueError("needs a model and a base_url when it is enabled")
        return self


class RoutingSettings(Section):
    """Which model writes a task. What the reviewer's model writes waits for its residency and is self-reviewed."""

    reviewer: tuple[_Kind | Literal["complex"], ...] = ()
    """Kinds of tasks that the reviewer's model writes, such as `["security"]`; "complex": complex tasks of every kind."""

    def writer(self, kind: TaskKind, complexity: Complexity) -> Role:
        """The role that writes a task."""
        hard = complexity is Complexity.COMPLEX and _COMPLEX in self.reviewer
        return Role.REVIEWER if hard or kind in self.reviewer else Role.GENERATOR


class SystemdSettings(Section):
    """Strategy `systemd`: two units and one script. These values take precedence over swap.conf, which also says how much
    GPU memory has to be free (swap/README.md)."""

    host: _Host = ""
    """The machine with the GPU and the servers, as ssh knows it (`box`, `user@box`); empty: this one (docs/serving.md)."""
    scope: Literal["user", "system"] = "user"
    """Whose systemd holds the units."""
    generator_unit: _Unit = "navigator-generator.service"
    """Unit of the generator's server."""
    reviewer_unit: _Unit = "navigator-reviewer.service"
    """Unit of the reviewer's server."""
    load_seconds: _Seconds = 900.0
    """Longest wait in seconds for the server's first answer: weights, graphs."""

    @model_validator(mode="after")
    def _units_differ(self) -> Self:
        if self.generator_unit == self.reviewer_unit:
            raise ValueError("generator_unit and reviewer_unit must be two units")
        return self


class CommandSettings(Section):
    """Strategy `command`: your own program swaps."""

    argv: tuple[str, ...] = ()
    """The program and its arguments. `{role}` becomes the role (else it comes last)."""


class SwapSettings(Section):
    """How models share the GPU. There is no default strategy: a wrong guess would stop a service."""

    strategy: SwapStrategyName | None = None
    """How the model on the GPU changes: docs/strategies.md."""
    script: str = ""
    """Strategy systemd: a script in place of the packaged model-swap.sh."""
    model_dirs: tuple[str, ...] = ()
    """Folders that hold models, in addition to the Hugging Face cache: the next model's weights are read ahead."""
    systemd: SystemdSettings = Field(default_factory=SystemdSettings)
    command: CommandSettings = Field(default_factory=CommandSettings)

    @property
    def keeps_both(self) -> bool:
        """Whether both models answer at once, so that nothing is swapped."""
        return self.strategy in ("resident", "adapter")

    @property
    def host(self) -> str:
        """The machine that the servers are on, as ssh knows it; "" for this one."""
        return self.systemd.host if self.strategy == "systemd" else ""

    @model_validator(mode="after")
    def _command_named(self) -> Self:
        if self.strategy == "command" and not self.command.argv:
            raise ValueError('strategy "command" needs argv under [swap.command], the command to run')
        return self


class CanarySettings(Section):
    """The same questions to a loaded server at temperature 0: does it answer sense? (docs/strategies.md)"""

    enabled: bool = True
    """Ask them after each load. A server whose answers are garbage counts as not loaded."""


class BatchSettings(Section):
    """When a review is due, and how many revisions may follow."""

    target: Positive = 30
    """Review when this many proposals wait …"""
    max_wait_minutes: _Minutes = 30.0
    """… or the oldest has waited this many minutes …"""
    quiet_minutes: _Minutes = 3.0
    """… or nothing is left to write and no task came for this many minutes (0: at once). More: fewer swaps, longer waits."""
    revisions: int = Field(default=2, ge=0, le=2)
    """Maximum number of revisions of a proposal."""


class ReviewSettings(Section):
    """What a finding of the reviewer needs to cause a revision."""

    reproduce: bool = True
    """Ask the reviewer for a test of each blocker and major finding, and run it: needs a check command and the sandbox."""
    # Each is one more request in the reviewer's time.
    # Maximum number of tests of one review, the gravest findings first.
    reproduce_most: ClassVar[int] = 3
    block_on: Literal["grounded", "reproduced"] = "grounded"
    """Findings that cause REVISE: all with a quote that was found, or only those not disproved by their test's run."""


class ChecksSettings(Section):
    """Limits of the sandbox in which projects' tests run."""

    timeout_seconds: Positive = 300
    """Longest test run in seconds."""
    memory_mb: Positive = 4096
    """Memory limit of a test run in megabytes."""
    unsandboxed: bool = False
    """Run projects' tests without a sandbox, as you: code that a model wrote can then do anything you can."""


class OnSettings(Section):
    """Commands of your own that the conductor runs when something happened (docs/events.md): program and arguments, with what
    happened as JSON on stdin. Empty: none."""

    landed: tuple[str, ...] = ()
    """An approved proposal has reached its branch."""
    reviewed: tuple[str, ...] = ()
    """A review has been stored, of a proposal or of an existing change."""
    batch_ready: tuple[str, ...] = ()
    """The reviewer's residency is over, and proposals of it wait for you."""
    failed: tuple[str, ...] = ()
    """A task has failed."""
    swap_failed: tuple[str, ...] = ()
    """A swap has failed."""
    run_ended: tuple[str, ...] = ()
    """A run of the conductor has ended."""

    def command(self, event: str) -> tuple[str, ...]:
        """Of one event, by its name here; () where there is none."""
        found: tuple[str, ...] = getattr(self, event)
        return found

    @property
    def events(self) -> tuple[str, ...]:
        """The events that have a command."""
        names = ("landed", "reviewed", "batch_ready", "failed", "swap_failed", "run_ended")
        return tuple(name for name in names if self.command(name))


class MetricsSettings(Section):
    """Figures of a running conductor for Prometheus (docs/scaling.md). Off until an address is set."""

    listen: str = ""
    """Address and port to serve `/metrics` at, such as "127.0.0.1:9464": counts, never text. Empty: off."""

    @field_validator("listen")
    @classmethod
    def _address_and_port(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if value:
            try:
                ip_address(host.strip("[]"))
            except ValueError:
                raise ValueError('must be an IP address and a port, such as "127.0.0.1:9464"') from None
            if not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
                raise ValueError("must end with a port from 1 to 65535")
        return value

    @property
    def address(self) -> tuple[str, int]:
        """`listen` as host and port."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class ExamSettings(Section):
    """The reviewer's exam: changes whose right verdict is known, mixed into its reviews (docs/exam.md)."""

    share: float = Field(default=0.1, ge=0, le=0.5, allow_inf_nan=False)
    """Share of the tokens of a residency of the reviewer that the exam may use; 0: no exam."""
    # Enough for a first figure; `navigator exam prepare --limit` makes more.
    # Faulty changes to prepare for each project; as many clean ones are added.
    items: ClassVar[int] = 20
    # Newest commits of a project that are looked at: as many as `items` faulty changes usually take.
    history: ClassVar[int] = 400
    # The exam is to stay a small part of the work.
    # Longest time in seconds that tests run to prepare a project's changes, in one session or command.
    prepare_seconds: ClassVar[int] = 1800


class ProjectEntry(Section):
    """One project. It overrides the project with the same path that `navigator project add` stored."""

    path: _Text
    """Folder of the git repository: absolute, or starting with `~`."""
    name: str = ""
    """Name of the project; empty: the folder's name."""
    base: str = ""
    """Branch or tag that changes are based on; empty: the current branch."""
    landing: LandingName = "branch"
    """Where approved changes go: "branch" commits to navigator/…, "current" to the current branch."""
    check: str = ""
    """Command that runs the project's tests; empty: none is run."""
    check_mounts: tuple[str, ...] = ()
    """Further folders that the sandbox may read, such as a toolchain."""
    include: tuple[str, ...] = ()
    """Patterns of files that models may see and change; empty: all tracked files."""
    exclude: tuple[str, ...] = ()
    """Patterns of files that models never see."""
    conventions: str = "AGENTS.md"
    """File with the project's conventions, part of every prompt."""
    escalate: bool = False
    """Let its proposals be sent to the final model when you escalate one, or when one touches a careful path."""
    careful: tuple[str, ...] = ()
    """Patterns of paths, such as `migrations/**`: proposals that touch one come first, and no batch approval takes them."""
    review_branches: tuple[str, ...] = ()
    """Patterns of branches, such as `agent/*`, whose new commits are reviewed without being asked for."""

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
            raise ValueError("must be the name of a branch or tag")
        return value

    @property
    def location(self) -> Path:
        """The path with `~` and links resolved: what stored projects are compared with."""
        return typed_path(self.path).resolve()

    @property
    def display_name(self) -> str:
        """The given name, or the folder's."""
        return self.name or self.location.name


class Settings(Section):
    """Everything the file may say. `source` is the file that was read, None without a file."""

    generator: GeneratorSettings = Field(default_factory=GeneratorSettings)
    reviewer: ReviewerSettings = Field(default_factory=ReviewerSettings)
    final: FinalSettings = Field(default_factory=FinalSettings)
    routing: RoutingSettings = Field(default_factory=RoutingSettings)
    swap: SwapSettings = Field(default_factory=SwapSettings)
    canary: CanarySettings = Field(default_factory=CanarySettings)
    batch: BatchSettings = Field(default_factory=BatchSettings)
    review: ReviewSettings = Field(default_factory=ReviewSettings)
    checks: ChecksSettings = Field(default_factory=ChecksSettings)
    metrics: MetricsSettings = Field(default_factory=MetricsSettings)
    on: OnSettings = Field(default_factory=OnSettings)
    exam: ExamSettings = Field(default_factory=ExamSettings)
    project: tuple[ProjectEntry, ...] = ()
    source: Path | None = Field(default=None, exclude=True)

    @model_validator(mode="after")
    def _projects_differ(self) -> Self:
        paths: set[Path] = set()
        names: set[str] = set()
        for entry in self.project:
            if entry.location in paths:
                raise ValueError(f"project: {entry.path} appears twice")
            if entry.display_name in names:
                raise ValueError(f"project: the name {entry.display_name} appears twice; rename one of them")
            paths.add(entry.location)
            names.add(entry.display_name)
        return self

    @property
    def rehearsal(self) -> bool | None:
        """Whether these settings rehearse: work under them is simulated. None where no strategy is set, as in no file at all."""
        return rehearses((self.server(role).model for role in Role), self.swap.strategy)

    def server(self, role: Role) -> ServerSettings:
        """The settings of the server that plays `role`."""
        return {Role.GENERATOR: self.generator, Role.REVIEWER: self.reviewer, Role.FINAL: self.final}[role]


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings file.

    Args:
        path: the file; by default what `paths.config_path` says. Without a file at the default path all defaults apply.

    Raises:
        ConfigError: `NAVIGATOR_CONFIG` names a file that does not exist; or the file cannot be read, is no TOML, holds an
            unknown key or a value that does not fit. The message names the file and the key.
    """
    file = path if path is not None else config_path()
    table = settings_table(path)
    return Settings() if table is None else checked(file, table, Settings).model_copy(update={"source": file})


def describe(settings: Settings) -> dict[str, Any]:
    """What `navigator config show` prints: every value, and whether the file or the default gave it.

    Returns:
        `{"file": …, "generator": {key: {"value": …, "from": "file" | "default"}}, …, "projects": […]}`.
        An API key is never among the values: settings hold the names of variables only.
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
