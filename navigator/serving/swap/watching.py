"""What a look at an HTTP server may conclude from the way it answers, or does not."""

from __future__ import annotations

from navigator.domain.errors import NavigatorError
from navigator.serving.client.client import ModelClient
from navigator.serving.client.errors import ServingError, Unreachable


def is_refused(error: ServingError) -> bool:
    """Whether nobody listens any more, in contrast to a server that is too busy to answer in time."""
    return (
        isinstance(error, Unreachable) and not error.status and "did not answer within" not in error.message
    )


async def serves(client: ModelClient) -> bool:
    """Whether the server lists the model that is wanted of it."""
    try:
        await client.require_model()
    except NavigatorError:
        return False
    return True
