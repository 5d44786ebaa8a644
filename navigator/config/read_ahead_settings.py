"""`[swap.read_ahead]` of the settings: reading the next model's weights into memory before they are needed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from navigator.config.section import Section

_Megabytes = Annotated[int, Field(ge=0)]


class ReadAheadSettings(Section):
    """While one model works, the other one's weight files are read into the page cache. Megabytes are 2^20 bytes.

    `limit_mb` is the most that is read at a time (0: what memory has room for), `rate_mb_s` how fast (0: as fast as the
    disk), `floor_mb` how much available memory is always left. `model_dirs` are folders that hold models, beside the
    Hugging Face cache.
    """

    enabled: bool = True
    limit_mb: _Megabytes = 0
    rate_mb_s: _Megabytes = 500
    floor_mb: _Megabytes = 8192
    model_dirs: tuple[str, ...] = ()
