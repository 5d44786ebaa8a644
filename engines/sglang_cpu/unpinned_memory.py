"""Has SGLang's LoRA ask for ordinary memory: pinned memory, which a GPU copies from faster, cannot be had without one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch


def _unpinned(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(make)
    def made(*arguments: Any, **options: Any) -> torch.Tensor:
        options.pop("pin_memory", None)
        return make(*arguments, **options)

    return made


for _name in ("tensor", "empty", "zeros", "ones", "full", "arange"):
    setattr(torch, _name, _unpinned(getattr(torch, _name)))
torch.Tensor.pin_memory = lambda tensor, *_: tensor  # type: ignore[method-assign, assignment]
