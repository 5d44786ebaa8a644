"""Start SGLang's server without a GPU: `python serve.py [flags of sglang.launch_server]`.

The server's child processes import this file too, so what it imports at the top level holds for them as well.
"""

from __future__ import annotations

import runpy

import torchvision_operators  # noqa: F401  imported for what it declares
import unpinned_memory  # noqa: F401  the same

if __name__ == "__main__":
    runpy.run_module("sglang.launch_server", run_name="__main__")
