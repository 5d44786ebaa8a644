"""The package of the screens costs nothing until a screen is wanted."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_imports_no_textual() -> None:
    code = "import sys, navigator.tui; print(sorted({'textual', 'rich', 'pygments'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
