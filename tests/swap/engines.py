"""Real model servers as units: SGLang on the CPU with a tiny random model, under two names.

HTTP, scheduler, grammar, streaming and shutdown are SGLang's own; the compiled kernels are stand-ins that nothing calls, and
attention is PyTorch's. So the wire, the drain and the phases' plumbing are real, and no load time says anything about a GPU.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.engines import llama, sglang
from tests.swap.desk import Desk

CONTEXT = 16384
ALIASES = {"generator": "tiny-generator", "reviewer": "tiny-reviewer"}
WAITS = {"DRAIN": 120, "STOP": 60, "RELEASE": 30, "LOAD": 300, "HEALTH": 120, "VERIFY": 60}
PATIENT = {f"{name}_SECONDS": str(seconds) for name, seconds in WAITS.items()}


def sglang_unit(desk: Desk, role: str, *options: str) -> None:
    """Make the role's unit a real SGLang server."""
    model = _named_copy(desk.folder / ALIASES[role])
    words = sglang.command(desk.ports[role], model, "--max-total-tokens", str(4 * CONTEXT), *options)
    variables = sglang.environment(desk.folder)
    desk.command(role, words, "\n".join(f'Environment="{key}={value}"' for key, value in variables.items()))


def _named_copy(folder: Path) -> Path:
    """The tiny model under a name of its own, and with room for Navigator's prompts: its weights know no positions."""
    if folder.exists():
        return folder
    folder.mkdir()
    for file in (sglang.home() / "tiny").iterdir():
        (folder / file.name).symlink_to(file)
    config = json.loads((folder / "config.json").read_text("utf-8")) | {"max_position_embeddings": CONTEXT}
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return folder


def sglang_desk(desk: Desk) -> None:
    """Both units, and deadlines that fit two busy cores."""
    desk.settings |= PATIENT
    for role, alias in ALIASES.items():
        sglang_unit(desk, role)
        desk.settings[f"{role.upper()}_MODEL"] = alias


def llama_desk(desk: Desk) -> None:
    """Both units llama.cpp's server, which is there in a tenth of a second."""
    server = [str(llama.home() / "llama-server"), "--model", str(llama.home() / "tiny.gguf")]
    sizes = ["--ctx-size", "8192", "--parallel", "2", "--threads", "1", "--cache-ram", "0"]
    sizes += ["--no-ui", "--offline"]
    for role, alias in ALIASES.items():
        where = ["--alias", alias, "--host", "127.0.0.1", "--port", str(desk.ports[role])]
        desk.command(role, [*server, *where, *sizes])
        desk.settings[f"{role.upper()}_MODEL"] = alias
