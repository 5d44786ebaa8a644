"""Takes the place of SGLang's compiled kernels, which exist for GPUs only.

Every name can be imported, so that the server starts; nothing can be called. A tiny model on the CPU runs on
PyTorch's own operations and never does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)

    def kernel(*arguments: Any, **options: Any) -> NoReturn:
        raise NotImplementedError(f"The kernel {name} is compiled for GPUs; here is none.")

    return kernel
