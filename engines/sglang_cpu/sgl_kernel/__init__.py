"""Takes the place of SGLang's compiled kernels, which exist for GPUs only.

Every name can be imported, so that the server starts; only what `speculative.py` has can be called. A tiny model on the CPU
runs on PyTorch's own operations and calls nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sgl_kernel.speculative import (
    assign_extend_cache_locs_cpu,
    assign_req_to_token_pool_cpu,
    copy_all_layer_kv_cache_cpu,
    fill_accept_out_cache_loc_cpu,
    verify_tree_greedy_cpu,
)

__all__ = [
    "assign_extend_cache_locs_cpu",
    "assign_req_to_token_pool_cpu",
    "copy_all_layer_kv_cache_cpu",
    "fill_accept_out_cache_loc_cpu",
    "verify_tree_greedy_cpu",
]


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)

    def kernel(*arguments: Any, **options: Any) -> NoReturn:
        raise NotImplementedError(f"The kernel {name} is compiled for GPUs; here is none.")

    return kernel
