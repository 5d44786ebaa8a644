"""Runs inside the sandbox, before the agent: hands the conductor a listening port of this network, and becomes the agent.

The network in there has nothing but its own loopback. The socket that listens on it is opened here and served from
outside, so the model's address needs no path, no relay process and no route. Standard library only.

    inside.py PORT DESCRIPTOR PROGRAM ARGUMENTS...
"""

import os
import socket
import sys


def main() -> None:
    """Open the port, send it through the inherited descriptor, and run the program."""
    port, descriptor, *command = sys.argv[1:]
    server = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    with socket.socket(fileno=int(descriptor)) as outside:
        socket.send_fds(outside, [b"listening"], [server.fileno()])
    server.close()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
