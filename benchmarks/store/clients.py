"""Ways to read and write objects: this project's, pyarrow's own with as many retries, and obstore's.

python -m benchmarks.store.clients --client ours --endpoint URL --seconds 5      prints its timings as JSON
"""

import argparse
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter, process_time
from typing import Any

BUCKET, READ, WRITTEN = "bucket", "read", "written"
OBJECT_BYTES, RANGE_BYTES, SMALL_BYTES = 64 * 2**20, 10 * 2**20, 64 * 2**10
"""A shard; what is read of one at once; a footer."""
PATIENCE_S, ATTEMPTS = 60, 12
"""pyarrow counts attempts, whose pauses double up to 20 s: 12 of them wait about as long."""
CLIENTS = ("ours", "pyarrow", "obstore")


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
        found = memoryview(client.read(begin, begin + size)).cast("B")
        assert found.nbytes == size
        assert found[:64] == content[begin : begin + 64]
        assert found[-64:] == content[begin + size - 64 : begin + size]
        return size

    def write() -> int:
        client.write(content)
        return OBJECT_BYTES

    return {
        "read 10 MiB": timed(lambda: read(RANGE_BYTES), seconds),
        "read 64 KiB": timed(lambda: read(SMALL_BYTES), seconds),
        "write 64 MiB": timed(write, seconds),
    }


def main() -> None:
    """Measure one client."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store.clients", description=__doc__)
    parser.add_argument("--client", choices=CLIENTS, required=True)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_EC2_METADATA_DISABLED="true")
    make = {"ours": ours, "pyarrow": pyarrow, "obstore": obstore}[given.client]
    print(json.dumps(measured(make(given.endpoint), given.seconds)))


if __name__ == "__main__":
    main()
