"""Lets torchvision's wheel be imported beside a PyTorch for the CPU. Import this before anything that imports it.

The wheel is built for PyTorch with CUDA. Without that its compiled part is not loaded, and importing it stops at the
first operator it wants to describe. Declaring these operators is enough: a text model calls none of them.
"""

from __future__ import annotations

import torch

_LIBRARY = torch.library.Library("torchvision", "DEF")
for _operator in ("nms", "qnms"):
    _LIBRARY.define(f"{_operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
