"""Objects read and written by this project's storage, by pyarrow's own S3 file system and by obstore, in turns.

    python -m benchmarks.store [--rounds 3] [--seconds 2]

Every client has a process of its own for each turn. The server, a thread here, is as much of S3 as they need, from a
folder; it fails as FAULTS says. Nothing is signed or stored but objects, so what is timed is the client.
"""

import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from benchmarks.report.pages import RESULTS, Benchmark, origin

ROOT = RESULTS.parents[1]
BUCKET, READ, WRITTEN = "bucket", "read", "written"
OBJECT_BYTES, RANGE_BYTES, SMALL_BYTES = 64 * 2**20, 10 * 2**20, 64 * 2**10
"""A shard; what is read of one at once; a footer."""
PATIENCE_S, ATTEMPTS = 60, 12
"""pyarrow counts attempts, whose pauses double up to 20 s: 12 of them wait about as long."""


FAULTS = ("none", "503", "reset", "cut", "slow")
"""Of every tenth request: SlowDown; a reset instead of an answer; an end in the middle of what is sent. slow: every
answer waits."""
EVERY = 10
SLOW_S = 0.02
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate</Message></Error>"
_CLOSED = b"</InitiateMultipartUploadResult>"


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
        span = _RANGE.match(self.headers.get("Range", ""))
        begin = int(span[1]) if span and span[1] else size - int(span[2]) if span else 0
        end = min(size, int(span[2]) + 1) if span and span[1] and span[2] else size
        self._headers(206 if span else 200, end - begin, f"bytes {begin}-{end - 1}/{size}" if span else None)
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


@dataclass(frozen=True)
class Client:
    """What a client does."""

    read: Callable[[int, int], Any]
    """The bytes from one place to another, as a buffer."""
    write: Callable[[bytes], Any]


def ours(endpoint: str) -> Client:
    """`vtr_core.storage`."""
    from vtr_core import storage
    from vtr_core.storage import locate

    os.environ.update(AWS_ENDPOINT_URL=endpoint, VTR_S3_PATIENCE_S=str(PATIENCE_S))
    place = locate(f"s3://{BUCKET}")
    source = (place / READ).filesystem.open_input_file(f"{BUCKET}/{READ}")

    def read(begin: int, end: int) -> Any:
        source.seek(begin)
        return source.read_buffer(end - begin)

    return Client(read, lambda content: storage.write_bytes(place / WRITTEN, content))


def pyarrow(endpoint: str) -> Client:
    """pyarrow's own file system and retries."""
    import pyarrow.fs as pafs

    strategy = pafs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    system = pafs.S3FileSystem(endpoint_override=endpoint, region="us-east-1", retry_strategy=strategy)
    source = system.open_input_file(f"{BUCKET}/{READ}")

    def read(begin: int, end: int) -> Any:
        source.seek(begin)
        return source.read_buffer(end - begin)

    def write(content: bytes) -> None:
        with system.open_output_stream(f"{BUCKET}/{WRITTEN}") as sink:
            sink.write(content)

    return Client(read, write)


def obstore(endpoint: str) -> Client:
    """obstore's store and retries."""
    import obstore
    from obstore.store import S3Store

    retry: Any = {"max_retries": 100, "retry_timeout": timedelta(seconds=PATIENCE_S)}
    store = S3Store(
        BUCKET,
        endpoint=endpoint,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
        retry_config=retry,
    )
    return Client(
        lambda begin, end: obstore.get_range(store, READ, start=begin, end=end),
        lambda content: obstore.put(store, WRITTEN, content),
    )


CLIENTS = {"ours": ours, "pyarrow": pyarrow, "obstore": obstore}


def timed(do: Callable[[], int], seconds: float) -> dict[str, float | str]:
    """Bytes a second, of time and of this process's own processor time; or what it ended with."""
    do()
    done, begin, cpu = 0, perf_counter(), process_time()
    try:
        while perf_counter() - begin < seconds:
            done += do()
    except Exception as error:  # whatever the client ends with
        return {"ended": f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]}
    return {"mb_per_s": done / 1e6 / (perf_counter() - begin), "mb_per_cpu_s": done / 1e6 / (process_time() - cpu)}


def measured(client: Client, seconds: float) -> dict[str, dict[str, float | str]]:
    """Reading ranges as large as row groups, small ones, and writing shards."""
    drawn = random.Random(0)
    content = random.Random(1).randbytes(OBJECT_BYTES)

    def read(size: int) -> int:
        begin = drawn.randrange(OBJECT_BYTES - size)
        content_read = memoryview(client.read(begin, begin + size)).cast("B")
        assert content_read.nbytes == size
        assert content_read[:64] == content[begin : begin + 64]
        assert content_read[-64:] == content[begin + size - 64 : begin + size]
        return size

    def write() -> int:
        client.write(content)
        return OBJECT_BYTES

    return {
        "read 10 MiB": timed(lambda: read(RANGE_BYTES), seconds),
        "read 64 KiB": timed(lambda: read(SMALL_BYTES), seconds),
        "write 64 MiB": timed(write, seconds),
    }


Turn = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Flags:
    """How often, for how long."""

    rounds: int = 3
    """Rounds in which every client has its turn."""
    seconds: float = 2.0
    """Of each operation."""
    out: str = str(RESULTS)
    """Folder for store.json and store.md."""
    client: Literal["ours", "pyarrow", "obstore"] | None = None
    """Used by the command itself: measure this client alone, and print its timings as JSON."""
    endpoint: str = ""
    """With --client: the server's address."""


def measure(flags: Flags) -> dict[str, Any]:
    """The turns of every client at every fault; with --client prints what it took, and ends."""
    if flags.client:
        print(json.dumps(measured(CLIENTS[flags.client](flags.endpoint), flags.seconds)))
        raise SystemExit(0)
    turns_by_fault: dict[str, dict[str, list[Turn]]] = {}
    with tempfile.TemporaryDirectory(prefix="vtr-store-") as folder:
        place = Path(folder) / BUCKET
        place.mkdir()
        (place / READ).write_bytes(random.Random(1).randbytes(OBJECT_BYTES))
        for fault in FAULTS:
            with server(Path(folder), fault) as endpoint:
                turns = [(name, _turn(name, endpoint, flags)) for _ in range(flags.rounds) for name in CLIENTS]
            turns_by_fault[fault] = {name: [turn for other, turn in turns if other == name] for name in CLIENTS}
    return {"found": turns_by_fault}


@contextmanager
def server(folder: Path, fault: str) -> Iterator[str]:
    """A server's address, for as long as the context lasts."""
    with Objects(folder, fault) as objects:
        threading.Thread(target=objects.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{objects.server_address[1]}"
        objects.shutdown()


def _turn(client: str, endpoint: str, flags: Flags) -> Turn:
    words = ["--client", client, "--endpoint", endpoint, "--seconds", str(flags.seconds)]
    command = [sys.executable, "-m", "benchmarks.store", *words]
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    turn: Turn = json.loads(done.stdout.splitlines()[-1])
    return turn


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    return "\n".join(
        [
            "# Reading and writing objects",
            "",
            "MB per second of the client's processor time and, in brackets, of time; medians. Every tenth request",
            "fails with a 503, a reset, or a cut in the middle of the answer; slow: every answer waits 20 ms.",
            "",
            "| fault | operation | client | MB/s | to ours |",
            "|---|---|---|---:|---:|",
            *_rows(figures["found"]),
            "",
            origin(figures),
            "",
        ]
    )


def _rows(turns_by_fault: dict[str, dict[str, list[Turn]]]) -> Iterator[str]:
    for fault, clients in turns_by_fault.items():
        for operation in clients["ours"][0]:
            ours = _median(clients["ours"], operation, "mb_per_cpu_s")
            for name, turns in clients.items():
                ended = [turn[operation]["ended"] for turn in turns if "ended" in turn[operation]]
                if ended:
                    yield f"| {fault} | {operation} | {name} | {ended[0]} | |"
                    continue
                per_cpu, wall = (_median(turns, operation, unit) for unit in ("mb_per_cpu_s", "mb_per_s"))
                ratio = f"{per_cpu / ours:.2f}" if ours else ""
                yield f"| {fault} | {operation} | {name} | {per_cpu:,.0f} ({wall:,.0f}) | {ratio} |"


def _median(turns: list[Turn], operation: str, unit: str) -> float:
    return median(float(turn[operation].get(unit, 0)) for turn in turns)


BENCHMARK = Benchmark("benchmarks.store", Flags, measure, markdown, ("pyarrow", "obstore"))

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
