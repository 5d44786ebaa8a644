#!/usr/bin/env python3
"""Navigator's screens in a browser on this machine: `python browser.py [PORT]`, then open the address that it prints.

Needs textual-serve (`pip install textual-serve`), beside Navigator. Whoever reaches the screens can approve and land, and any
page that is open in a browser can connect to the loopback. So the address holds a secret that is new at each start, a
connection is opened only for the page that this server has sent, and that page may load nothing from elsewhere.
"""

import hmac
import secrets
import shlex
import sys

COOKIE = "navigator"


def refusal(host: str, origin: str, told: str, *, here: str, secret: str, socket: bool) -> str:
    """Why a request is not answered; "" where it is.

    Args:
        host, origin: the request's headers of that name, "" where it has none.
        told: the secret that the request brought.
        here: this server's `address:port`; another name for it may be a trick of DNS.
        socket: whether it opens the socket; a browser then always says which page asks.
    """
    if host != here:
        return "unknown host"
    if origin not in ({f"http://{here}"} if socket else {"", f"http://{here}"}):
        return "unknown page"
    return (
        ""
        if hmac.compare_digest(told.encode(), secret.encode())
        else "open the whole address that the server printed first"
    )


def main() -> None:
    """Serve until Ctrl-C."""
    from aiohttp import web
    from textual_serve.server import Server

    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    here, secret = f"127.0.0.1:{port}", secrets.token_urlsafe(24)

    @web.middleware
    async def guard(request: web.Request, handler):
        told = request.query.get("secret") or request.cookies.get(COOKIE, "")
        header = request.headers.get
        socket = header("Upgrade", "").lower() == "websocket"
        if why := refusal(
            header("Host", ""), header("Origin", ""), told, here=here, secret=secret, socket=socket
        ):
            return web.Response(status=403, text=f"Refused: {why}.\n")
        answer = await handler(request)
        if not answer.prepared:
            answer.set_cookie(COOKIE, secret, httponly=True, samesite="Strict")
            answer.headers["Content-Security-Policy"] = (
                f"default-src 'self' 'unsafe-inline' data:; connect-src 'self' ws://{here}; frame-ancestors 'none'"
            )
            answer.headers["Referrer-Policy"] = "no-referrer"
        return answer

    class Guarded(Server):
        async def _make_app(self) -> web.Application:
            app = await super()._make_app()
            app.middlewares.append(guard)
            return app

    print(f"http://{here}/?secret={secret}", flush=True)
    Guarded(
        f"{shlex.quote(sys.executable)} -m navigator", host="127.0.0.1", port=port, title="Navigator"
    ).serve()


if __name__ == "__main__":
    main()
