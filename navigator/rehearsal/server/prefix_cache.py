"""A prefix cache that only counts: how much of a prompt earlier prompts have in common with it.

Like a paged radix cache it shares whole pages from the very first token on; one different character ends the match.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from navigator.rehearsal.server.timing import CHARACTERS_PER_TOKEN

PAGE_TOKENS = 64


class PrefixCache:
    """Pages of earlier prompts by chained hash, the least recently used leaving first.

    Args:
        capacity_tokens: how many tokens the cache holds.
    """

    def __init__(self, capacity_tokens: int = 600_000) -> None:
        self._capacity = max(1, capacity_tokens // PAGE_TOKENS)
        self._pages: OrderedDict[bytes, None] = OrderedDict()
        self.hit_tokens = 0
        self.seen_tokens = 0

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def capacity_tokens(self) -> int:
        """Tokens it can hold."""
        return self._capacity * PAGE_TOKENS

    @property
    def used_tokens(self) -> int:
        """Tokens it holds."""
        return len(self._pages) * PAGE_TOKENS

    @property
    def usage(self) -> float:
        """Share of the capacity in use, 0 to 1."""
        return len(self._pages) / self._capacity

    @property
    def hit_rate(self) -> float:
        """Share of all prompt tokens so far that were served from the cache."""
        return self.hit_tokens / self.seen_tokens if self.seen_tokens else 0.0

    def admit(self, prompt: str, tokens: int) -> int:
        """Take a prompt in and return how many of its first tokens were already there.

        The last token is never cached, as a server has to compute at least one.
        """
        width = PAGE_TOKENS * CHARACTERS_PER_TOKEN
        digest = b""
        matched = 0
        matching = True
        for start in range(0, len(prompt) - width + 1, width):
            page = prompt[start : start + width].encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(digest + page, digest_size=16).digest()
            if matching and digest in self._pages:
                matched += PAGE_TOKENS
            else:
                matching = False
            self._pages[digest] = None
            self._pages.move_to_end(digest)
        while len(self._pages) > self._capacity:
            self._pages.popitem(last=False)
        cached = max(0, min(matched, tokens - 1))
        self.hit_tokens += cached
        self.seen_tokens += tokens
        return cached

    def clear(self) -> None:
        """Forget everything, as `/flush_cache` asks."""
        self._pages.clear()
