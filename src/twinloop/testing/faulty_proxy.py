"""A server between a client and an HTTP server that loses, refuses and delays what it is told to.

For tests of what speaks to S3: point the client at `FaultyProxy.url` and plan faults. Requests are counted.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 16
_HEAD_BYTES = 1 << 20
_LENGTH = re.compile(rb"^content-length:\s*(\d+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of a request when its fault is chosen: ``PUT``, ``/bucket/key?query``, its head."""

    method: str
    target: str
    head: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one request.

    Attributes:
        busy, refused: it is answered 503 or 403 and goes no further.
        lose_request_at: the connection drops after so many bytes of the body; the server never acts on it.
        lose_answer_at: the server acts, and the connection drops after so many bytes of the answer.
        delay_s: the answer comes so much later.
    """

    busy: bool = False
    refused: bool = False
    lose_request_at: int | None = None
    lose_answer_at: int | None = None
    delay_s: float = 0.0


class FaultyProxy:
    """A proxy for one HTTP server at (host, port); a context manager.

    Attributes:
        requests: all that came, in order.
        choose: called with each request when it comes; gives its fault, or None.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[Request] = []
        self.choose: Callable[[Request], Fault | None] = lambda _: None
        self._planned: deque[tuple[Callable[[Request], bool], Fault]] = deque()
        self._lock = threading.Lock()

    def plan(self, fault: Fault, *, times: int = 1, of: Callable[[Request], bool] = lambda _: True) -> None:
        """Let the next requests that `of` chooses meet a fault."""
        with self._lock:
            self._planned.extend([(of, fault)] * times)

    @property
    def planned(self) -> int:
        """Faults that no request has met yet."""
        return len(self._planned)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """One request of a connection, which then ends."""
        with suppress(OSError), client:
            head, body = _read_head(client)
            if not head:
                return
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            request = Request(method, target, head)
            fault = self._meet(request)
            if fault.busy or fault.refused:
                _drain(client, head, body)
                client.sendall(_answer("503 Slow Down" if fault.busy else "403 Forbidden"))
                return
            self._forward(client, head, body, fault)

    def _meet(self, request: Request) -> Fault:
        with self._lock:
            self.requests.append(request)
            for place, (of, fault) in enumerate(self._planned):
                if of(request):
                    del self._planned[place]
                    return fault
        return self.choose(request) or Fault()

    def _forward(self, client: socket.socket, head: bytes, body: bytes, fault: Fault) -> None:
        length = _body_length(head)
        with socket.create_connection(self._server) as server:
            server.sendall(_closing(head))
            sent = 0
            while True:
                if fault.lose_request_at is not None and sent + len(body) >= fault.lose_request_at:
                    return
                server.sendall(body)
                sent += len(body)
                if sent >= length:
                    break
                body = client.recv(min(_CHUNK, length - sent))
                if not body:
                    return
            answer = _read_all(server)
        time.sleep(fault.delay_s)
        client.sendall(_closing(answer[: fault.lose_answer_at]))


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """(the request's line and fields, what came of the body)."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _HEAD_BYTES:
        chunk = client.recv(_CHUNK)
        if not chunk:
            return b"", b""
        data += chunk
        if b"100-continue" in data.lower():
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    head, _, body = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", body


def _body_length(head: bytes) -> int:
    found = _LENGTH.search(head)
    return int(found[1]) if found else 0


def _drain(client: socket.socket, head: bytes, body: bytes) -> None:
    rest = _body_length(head) - len(body)
    while rest > 0 and (chunk := client.recv(min(_CHUNK, rest))):
        rest -= len(chunk)


def _answer(status: str) -> bytes:
    body = f"<Error><Code>{status[4:].replace(' ', '')}</Code></Error>"
    return f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def _closing(message: bytes) -> bytes:
    """The message, with the connection to end after it."""
    line, end, rest = message.partition(b"\r\n")
    if not end:
        return message
    rest = re.sub(rb"(?im)^connection:[^\r\n]*\r\n", b"", rest, count=1)
    return line + b"\r\nConnection: close\r\n" + rest


def _read_all(server: socket.socket) -> bytes:
    answer = bytearray()
    while chunk := server.recv(_CHUNK):
        answer += chunk
    return bytes(answer)
