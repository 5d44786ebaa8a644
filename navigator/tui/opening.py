"""Opening the screens, and how a demo's state folder keeps the way it is rehearsed."""

from __future__ import annotations

import os
import sys

from navigator.config.paths import StatePaths, config_path, state_dir
from navigator.config.settings import load_settings
from navigator.tui.app import NavigatorApp
from navigator.tui.data.prefs import Prefs
from navigator.tui.keys.keymap import load_keymap

_SCALE, _SEED = "rehearsal.time_scale", "rehearsal.seed"
"""Choices under which a demo's state folder keeps how it is rehearsed, for when the screens are opened again."""


def rehearsed(prefs: Prefs, time_scale: float | None, seed: int) -> tuple[float | None, int]:
    """How this state folder is rehearsed: as asked, and kept; else as it was kept."""
    if time_scale is not None:
        prefs.set(_SCALE, repr(time_scale))
        prefs.set(_SEED, str(seed))
        return time_scale, seed
    try:
        kept_scale, kept_seed = float(prefs.get(_SCALE, "")), int(prefs.get(_SEED, "0"))
    except ValueError:
        return None, seed
    return (None if os.environ.get("NAVIGATOR_TIME_SCALE") else kept_scale), kept_seed


def run_app(*, time_scale: float | None = None, seed: int = 0) -> None:
    """Open the screens until the developer leaves.

    Args:
        time_scale, seed: a demo's. A conductor is started at once where the scale is given, and both are kept in the
            state folder; without one, a scale kept there holds, unless the environment names another.

    Raises:
        ConfigError: the settings cannot be used.
    """
    settings, paths = load_settings(), StatePaths(state_dir()).ensure()
    asked = time_scale is not None
    time_scale, seed = rehearsed(Prefs(paths.root), time_scale, seed)
    app = NavigatorApp(
        settings,
        paths,
        keymap=load_keymap(config_path().parent / "keys.toml"),
        time_scale=time_scale,
        seed=seed,
        autostart=asked,
    )
    app.run()
    if app.demo_wanted:
        os.execv(sys.executable, [sys.executable, "-m", "navigator", "demo"])
    if app.return_code:
        raise SystemExit(app.return_code)
