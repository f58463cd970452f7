"""The store that the tests run against: a server of their own, or any endpoint.

VTR_TEST_S3_ENDPOINT   URL of an S3-compatible store; without it the tests start moto's server
VTR_TEST_S3_BUCKET     a bucket there that exists (default: vtr-tests, which is made)
AWS_…                  as always: keys, profile, region
"""

import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs

from vtr_core import storage
from vtr_core.storage import locate

KEY, SECRET = "AKIATESTTESTTESTTEST", "test-secret-that-must-not-be-shown"


@dataclass(frozen=True)
class Store:
    """A running store and a bucket in it."""

    endpoint: str
    bucket: str
    env: dict[str, str]
    """What commands need to reach it."""

    def folder(self) -> str:
        """The URI of a folder that nobody has used."""
        return f"s3://{self.bucket}/{uuid.uuid4().hex}"


@contextmanager
def running_store() -> Iterator[Store]:
    """The store, for as long as the context lasts."""
    settings = os.environ.get("VTR_TEST_S3_ENDPOINT")
    bucket = os.environ.get("VTR_TEST_S3_BUCKET")
    if settings:
        env = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        yield _with_bucket(settings, bucket, {**env, "AWS_ENDPOINT_URL": settings})
        return
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    own = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        yield _with_bucket(endpoint, bucket, own)
    finally:
        server.stop()


def _with_bucket(endpoint: str, bucket: str | None, env: dict[str, str]) -> Store:
    if bucket is None:
        bucket = "vtr-tests"
        s3 = s3_client(endpoint, env)
        if bucket not in [item["Name"] for item in s3.list_buckets()["Buckets"]]:
            s3.create_bucket(Bucket=bucket)
    return Store(endpoint, bucket, env)


def fetch(uri: str, folder: Path) -> Path:
    """All that lies below `uri`, copied into `folder`."""
    place = locate(uri)
    for info in place.filesystem.get_file_info(pafs.FileSelector(place.path, recursive=True)):
        if info.is_file:
            name = info.path.removeprefix(f"{place.path}/")
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(storage.read_bytes(place / name))
    return folder


def send(folder: Path, uri: str) -> None:
    """All files of `folder`, copied to `uri`."""
    for file in folder.rglob("*"):
        if file.is_file():
            storage.write_bytes(locate(uri) / str(file.relative_to(folder)), file.read_bytes())


def s3_client(endpoint: str, env: dict[str, str]):  # type: ignore[no-untyped-def]
    """boto3's client, to look at the store from outside."""
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=env.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=env.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=env.get("AWS_SESSION_TOKEN"),
        region_name=env.get("AWS_REGION", "us-east-1"),
    )
