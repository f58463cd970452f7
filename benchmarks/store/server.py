"""As much of an S3 server as a client needs that reads and writes objects, from a folder, with faults where wanted.

    python -m benchmarks.store.server --folder FOLDER --fault 503      prints its port

Faults, of every tenth request: `503` SlowDown; `reset` instead of an answer; `cut` in the middle of what is sent.
`slow`: every answer waits 20 ms. Nothing is signed or stored but objects, so what is timed is the client.
"""

import argparse
import os
import re
import socket
import struct
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

FAULTS = ("none", "503", "reset", "cut", "slow")
EVERY = 10
SLOW_S = 0.02
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate</Message></Error>"


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store.server", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--fault", choices=FAULTS, default="none")
    given = parser.parse_args()
    server = Objects(given.folder, given.fault)
    print(server.server_address[1], flush=True)
    server.serve_forever()


class Objects(ThreadingHTTPServer):
    """A server of the objects in `folder`."""

    def __init__(self, folder: Path, fault: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.fault, self.numbers = folder, fault, count(1)
        self.parts: dict[str, dict[int, bytes]] = defaultdict(dict)
        """Parts of an upload by its id."""


class Handler(BaseHTTPRequestHandler):
    """Answers a request for an object."""

    server: Objects
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self) -> None:
        """Whatever the method, with the fault that is due."""
        path, query = self._asked()
        body = self._body()
        due = next(self.server.numbers) % EVERY == 0
        if self.server.fault == "slow":
            time.sleep(SLOW_S)
        if due and self.server.fault == "503":
            self._send(503, _SLOW_DOWN)
        elif due and self.server.fault == "reset":
            self._reset()
        elif self.command in ("GET", "HEAD"):
            self._give(path, due and self.server.fault == "cut")
        else:
            self._take(path, query, body)

    do_GET = do_HEAD = do_PUT = do_POST = answer  # noqa: N815

    def _asked(self) -> tuple[Path, dict[str, list[str]]]:
        parsed = urlsplit(self.path)
        return self.server.folder / unquote(parsed.path).lstrip("/"), parse_qs(parsed.query, keep_blank_values=True)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while (size := int(self.rfile.readline().split(b";")[0], 16)) > 0:
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _give(self, path: Path, cut: bool) -> None:
        if not path.is_file():
            self._send(404, b"")
            return
        size = path.stat().st_size
        found = _RANGE.match(self.headers.get("Range", ""))
        begin = int(found[1]) if found and found[1] else size - int(found[2]) if found else 0
        end = min(size, int(found[2]) + 1) if found and found[1] and found[2] else size
        self._headers(206 if found else 200, end - begin, f"bytes {begin}-{end - 1}/{size}" if found else None)
        if self.command == "GET":
            self._send_file(path, begin, begin + (end - begin) // 2 if cut else end)
            if cut:
                self._reset()

    def _send_file(self, path: Path, begin: int, end: int) -> None:
        self.wfile.flush()
        with path.open("rb") as file:
            while begin < end:
                begin += os.sendfile(self.connection.fileno(), file.fileno(), begin, end - begin)

    def _take(self, path: Path, query: dict[str, list[str]], body: bytes) -> None:
        if "uploads" in query:
            self._send(
                200, b"<InitiateMultipartUploadResult><UploadId>%d</UploadId>" % next(self.server.numbers) + _CLOSED
            )
        elif "partNumber" in query:
            self.server.parts[query["uploadId"][0]][int(query["partNumber"][0])] = body
            self._send(200, b"")
        elif "uploadId" in query:
            held = self.server.parts.pop(query["uploadId"][0])
            path.write_bytes(b"".join(held[number] for number in sorted(held)))
            self._send(200, b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
        else:
            path.write_bytes(body)
            self._send(200, b"")

    def _send(self, status: int, body: bytes) -> None:
        self._headers(status, len(body), None)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _headers(self, status: int, length: int, content_range: str | None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("Content-Type", "application/xml")
        self.send_header("ETag", '"x"')
        self.send_header("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT")
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


_CLOSED = b"</InitiateMultipartUploadResult>"

if __name__ == "__main__":
    main()
