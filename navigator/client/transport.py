"""One HTTP connection pool to one server: where the key goes, how much is read, what an HTTP failure means.

The key travels only to addresses made from base_url. Redirects are not followed, proxies and .netrc of the
environment are not read. httpx is imported when the first transport is made, not before.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from navigator.client.assemble import load_json, parse_retry_after, server_words
from navigator.client.body import Timeouts
from navigator.client.errors import (
    BadAnswer,
    NoAnswer,
    ServingError,
    Unauthorized,
    Unreachable,
    error_for_status,
)
from navigator.model import patterns
from navigator.model.errors import ConfigError, MissingPart
from navigator.model.text import safe_line

if TYPE_CHECKING:
    import ssl

    import httpx

    from navigator.config.settings import ServerSettings

_MAX_ERROR_BODY = 1 << 16
_MAX_PROBE_BODY = 4 << 20
_VERSION = patterns.compile(r"v\d+(?:(?:alpha|beta)\d*)?")
_REDACTED = "[key]"


def endpoints(base_url: str) -> tuple[str, str]:
    """The root of a server and the root of its OpenAI-compatible part.

    `http://host:1` and `http://host:1/v1` both give `("http://host:1", "http://host:1/v1")`; a path that
    names another version somewhere (`/v1beta/openai`) is used unchanged.
    """
    base = base_url.rstrip("/")
    if base.endswith("/v1"):
        return base.removesuffix("/v1"), base
    if any(_VERSION.fullmatch(segment) for segment in urlsplit(base).path.split("/")):
        return base, base
    return base, f"{base}/v1"


def _certificates(root: str) -> ssl.SSLContext | bool:
    """What https servers are verified with. Reading the certificates takes a twentieth of a second, so a plain http address
    gets none: nothing could be verified with them, and redirects are not followed."""
    import ssl

    return True if urlsplit(root).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Transport:
    """HTTP to one server. Belongs to one event loop; `aclose` it.

    Args:
        settings: address, and names of the keys' variables. How many requests run at once is for the caller to bound.
        timeouts: only `connect` is used here; the callers bound the rest.
    """

    def __init__(self, settings: ServerSettings, timeouts: Timeouts) -> None:
        # httpcore looks for sniffio at every lock it takes. The search costs a third of a request; None ends it at once.
        sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]
        import httpx

        self._key_variable = settings.api_key_env
        self._admin_variable = settings.admin_key_env or settings.api_key_env
        self.root, self.api = endpoints(settings.base_url)
        self._connect_seconds = timeouts.connect
        self._http = httpx.AsyncClient(
            verify=_certificates(self.root),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=timeouts.connect, write=60.0),
            # No limit: httpcore 1.0.9 loses a place for good where a request is cancelled before its connection is used.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=8),
            headers={"User-Agent": "navigator", "Accept-Encoding": "identity"},
        )

    async def __aenter__(self) -> Transport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return safe_line(urlsplit(self.root).netloc)

    @property
    def closed(self) -> bool:
        """Whether `aclose` was called: nothing can be asked any more."""
        return self._http.is_closed

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    def clean(self, words: str) -> str:
        """`words` without the keys: some servers repeat in their errors what they were sent."""
        for variable in {self._key_variable, self._admin_variable} - {""}:
            key = os.environ.get(variable, "").strip()
            words = words.replace(key, _REDACTED) if key else words
        return words

    def _headers(self, *, admin: bool = False) -> dict[str, str]:
        variable = self._admin_variable if admin else self._key_variable
        if not variable:
            return {}
        key = os.environ.get(variable, "").strip()
        if not key:
            raise MissingPart(
                f"The variable {variable}, which api_key_env names, is not set.",
                hint=f"Export {variable} with the server's key, or empty api_key_env.",
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError(
                f"The key in {variable} holds characters that no HTTP header may hold.",
                hint=f"Set {variable} again, without quotes, spaces or line breaks.",
            )
        return {"Authorization": f"Bearer {key}"}

    @asynccontextmanager
    async def post(self, url: str, body: Mapping[str, Any], request_id: str) -> AsyncIterator[httpx.Response]:
        """Send a request and hand out the response with its body unread.

        Raises:
            Unreachable: no connection, or it ended before an answer's head. Failures while the caller reads
                the body are the caller's (`httpx.RequestError`).
            MissingPart, ConfigError: the key's variable.
        """
        import httpx

        self._require_open()
        request = self._http.build_request(
            "POST", url, json=body, headers={**self._headers(), "X-Request-Id": request_id}
        )
        try:
            response = await self._http.send(request, stream=True)
        except httpx.RequestError as error:
            raise self._unreachable(error) from None
        try:
            yield response
        finally:
            await response.aclose()

    async def get(self, url: str, seconds: float) -> tuple[int, Any]:
        """A small question.

        Returns:
            The HTTP status, and the decoded JSON body or None where it is not JSON.

        Raises:
            Unreachable: no connection, or no answer within `seconds`.
        """
        return await self.ask(url, None, seconds)

    async def ask(
        self, url: str, body: Mapping[str, Any] | None, seconds: float, *, admin: bool = False
    ) -> tuple[int, Any]:
        """A small command by POST, without a body a GET; as `get`. `admin` sends the administrator's key, where there is one."""
        import httpx

        self._require_open()
        headers = self._headers(admin=admin)
        try:
            async with asyncio.timeout(seconds):
                async with self._http.stream(
                    "POST" if body is not None else "GET", url, json=body, headers=headers
                ) as response:
                    raw = await read_bounded(response, _MAX_PROBE_BODY)
                    return response.status_code, _json_or_none(raw)
        except TimeoutError:
            raise NoAnswer(f"{self.address} did not answer within {seconds:g} s.") from None
        except httpx.RequestError as error:
            raise self._unreachable(error) from None

    def _require_open(self) -> None:
        """httpx itself would raise a RuntimeError, which is not the fault of the caller's task."""
        if self.closed:
            raise Unreachable(f"The connection to {self.address} is closed.")

    def _unreachable(self, error: Exception) -> Unreachable:
        """The one sentence for a server that cannot be reached: its address, and the system's reason."""
        import httpx

        if isinstance(error, httpx.TimeoutException):
            return NoAnswer(f"{self.address} accepted no connection within {self._connect_seconds:g} s.")
        reason = _system_reason(error) or safe_line(self.clean(str(error))) or type(error).__name__
        return Unreachable(f"No server answers at {self.address}: {reason}.")

    def failure(self, status: int, words: str, retry_after: float | None = None) -> ServingError:
        """The typed error for an HTTP status other than 200, with this server's address and key variable."""
        error = error_for_status(status, words, retry_after, self.address)
        if isinstance(error, Unauthorized):
            if self._key_variable:
                error.hint = f"Put the server's key into the variable {self._key_variable} (api_key_env)."
            else:
                error.message = f"{self.address} requires an API key (HTTP {status})."
        return error

    async def refusal(self, response: httpx.Response) -> ServingError:
        """The typed error for a response that is not 200; reads a bounded part of its body."""
        import httpx

        try:
            raw = await read_bounded(response, _MAX_ERROR_BODY)
        except (httpx.RequestError, BadAnswer):
            raw = b""
        words = words_of(self.clean(raw.decode("utf-8", "replace")), response.headers.get("content-type", ""))
        retry_after = parse_retry_after(response.headers.get("retry-after"))
        return self.failure(response.status_code, words, retry_after)


def _system_reason(error: BaseException) -> str:
    """The operating system's words for a failed connection, from the chain of causes; "" if none has any."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, socket.gaierror):
            return "the host name is unknown"
        if isinstance(seen, OSError) and seen.errno:
            return os.strerror(seen.errno).lower()
        inner = seen.exceptions[0] if isinstance(seen, BaseExceptionGroup) else None
        seen = inner or seen.__cause__ or seen.__context__
    return ""


async def read_bounded(response: httpx.Response, limit: int) -> bytes:
    """The body, if it is at most `limit` bytes.

    Raises:
        BadAnswer: it is longer.
        httpx.RequestError: the connection failed.
    """
    raw = bytearray()
    async for chunk in response.aiter_bytes():
        raw += chunk
        if len(raw) > limit:
            raise BadAnswer(f"The server's answer is longer than {limit} bytes.")
    return bytes(raw)


def words_of(text: str, content_type: str) -> str:
    """What an error body says, in one safe line; a web page says nothing worth repeating."""
    if "html" in content_type.lower() or text.lstrip()[:1] == "<":
        return "it sent a web page"
    try:
        payload = load_json(text)
    except ValueError:
        payload = text
    return server_words(payload)


def _json_or_none(raw: bytes) -> Any:
    try:
        return load_json(raw.decode("utf-8", "replace"))
    except ValueError:
        return None
