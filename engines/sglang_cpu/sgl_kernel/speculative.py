"""What SGLang's n-gram speculation calls, on PyTorch's operations: slots of the token memory, the tree of drafts, verifying it.

They do what the kernels' callers in SGLang 0.5.23 describe. `torch_native` attention knows no tree of drafts: with one draft
at each position (`--speculative-ngram-max-bfs-breadth 1`) the tree is a chain, read as a few more tokens of a prompt are.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor

_changed: list[bool] = []


def assign_req_to_token_pool_cpu(
    requests: Tensor, slots: Tensor, starts: Tensor, ends: Tensor, given: Tensor, width: int
) -> None:
    """Write each request's new slots into its row, from its start to its end."""
    at = 0
    for row, start, end in zip(requests.tolist(), starts.tolist(), ends.tolist(), strict=True):
        slots[row, start:end] = given[at : at + end - start].to(slots.dtype)
        at += end - start


def assign_extend_cache_locs_cpu(
    requests: Tensor, slots: Tensor, starts: Tensor, ends: Tensor, out: Tensor, width: int
) -> None:
    """Read each request's slots from its start to its end."""
    at = 0
    for row, start, end in zip(requests.tolist(), starts.tolist(), ends.tolist(), strict=True):
        out[at : at + end - start] = slots[row, start:end].to(out.dtype)
        at += end - start


def reconstruct_indices_from_tree_mask(
    mask: Tensor,
    lengths: Tensor,
    positions: Tensor,
    index: Tensor,
    first_child: Tensor,
    sibling: Tensor,
    batch: int,
    nodes: int,
) -> None:
    """Depth, first child and next sibling of every draft, from which drafts are ancestors of which; -1 where there is none."""
    _verify_as_prompt()
    flat = [out.view(-1) for out in (positions, index, first_child, sibling)]
    for one in range(batch):
        inside = mask.view(batch, nodes, nodes)[one].bool().tolist()
        ancestors = [[other for other in range(node) if inside[node][other]] for node in range(nodes)]
        parents = [above[-1] if above else -1 for above in ancestors]
        for node in range(nodes):
            later = range(node + 1, nodes)
            values = (
                int(lengths[one]) + len(ancestors[node]),
                one * nodes + node,
                next((other for other in later if node in ancestors[other]), -1),
                next((other for other in later if parents[other] == parents[node] >= 0), -1),
            )
            for out, value in zip(flat, values, strict=True):
                out[one * nodes + node] = value


def verify_tree_greedy_cpu(
    predicts: Tensor,
    accept_index: Tensor,
    accept_token_num: Tensor,
    candidates: Tensor,
    retrive_index: Tensor,
    retrive_next_token: Tensor,
    retrive_next_sibling: Tensor,
    target_predict: Tensor,
) -> None:
    """Follow the drafts that the model would have written itself; the token after the last of them is the model's own."""
    for one in range(candidates.shape[0]):
        last, kept = 0, 0
        accept_index[one, 0] = retrive_index[one, 0]
        while kept + 1 < accept_index.shape[1]:
            node = int(retrive_next_token[one, last])
            while node != -1 and int(candidates[one, node]) != int(target_predict[one, last]):
                node = int(retrive_next_sibling[one, node])
            if node == -1:
                break
            predicts[int(retrive_index[one, last])] = target_predict[one, last]
            kept += 1
            accept_index[one, kept] = retrive_index[one, node]
            last = node
        predicts[int(retrive_index[one, last])] = target_predict[one, last]
        accept_token_num[one] = kept


def fill_accept_out_cache_loc_cpu(accept_index: Tensor, slots: Tensor, out: Tensor) -> None:
    """The slots of the drafts that were kept, one after the other."""
    index = accept_index.view(-1)
    kept = slots[index[index > -1].long()]
    out[: kept.numel()] = kept


def copy_all_layer_kv_cache_cpu(pointers: Tensor, strides: Tensor, targets: Tensor, sources: Tensor) -> None:
    """Move keys and values between slots, in every layer."""
    for start, size in zip(pointers.tolist(), strides.tolist(), strict=True):
        for target, source in zip(targets.tolist(), sources.tolist(), strict=True):
            if target != source:
                ctypes.memmove(start + target * size, start + source * size, size)


def _verify_as_prompt() -> None:
    """Have `torch_native` attention read drafts as it reads a prompt. Once SGLang is imported: hence not at the top."""
    if _changed:
        return
    _changed.append(True)
    from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend

    read = TorchNativeAttnBackend.forward_extend

    def forward_extend(
        self: Any, q: Tensor, k: Tensor, v: Tensor, layer: Any, batch: Any, save_kv_cache: bool = True
    ) -> Tensor:
        if not batch.forward_mode.is_target_verify():
            return read(self, q, k, v, layer, batch, save_kv_cache)
        before = batch.seq_lens
        kept = batch.extend_prefix_lens, batch.extend_seq_lens
        drafts = torch.full_like(before, q.shape[0] // before.shape[0])
        batch.seq_lens, batch.extend_prefix_lens, batch.extend_seq_lens = before + drafts, before, drafts
        try:
            return read(self, q, k, v, layer, batch, save_kv_cache)
        finally:
            batch.seq_lens = before
            batch.extend_prefix_lens, batch.extend_seq_lens = kept

    TorchNativeAttnBackend.forward_extend = forward_extend
