"""What a request is refused with, in SGLang's flat error object."""

from __future__ import annotations

from navigator.rehearsal.server.http import Response, json_response


class RequestProblem(Exception):
    """A request that cannot be served.

    Args:
        message: for people; SGLang's own words where clients look for them.
        kind: the error's `type`. "BadRequestError" says that the request makes no sense to the model, "Bad Request"
            that its body has not the right shape.
        status: the HTTP status, which is also the error's `code`.
    """

    def __init__(self, message: str, *, kind: str = "BadRequestError", status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = status

    def response(self) -> Response:
        """The error as it goes over the wire."""
        error = {
            "object": "error",
            "message": self.message,
            "type": self.kind,
            "param": None,
            "code": self.status,
        }
        return json_response(error, self.status)


def misshapen(field: str, wanted: str) -> RequestProblem:
    """A body whose field has the wrong type."""
    return RequestProblem(f"1 validation error: body.{field}: {wanted}", kind="Bad Request")
