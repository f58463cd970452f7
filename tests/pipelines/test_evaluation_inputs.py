"""Short names of data sets tell them apart, and MLflow takes them."""

from dataclasses import dataclass
from typing import Any

import pytest

from pipelines.evaluation_inputs import short_names


@dataclass
class _Named:
    uri: str


@pytest.mark.parametrize(
    ("uris", "names"),
    [
        (["/data/val"], ["val"]),
        (["/data/val", "/data/test/"], ["val", "test"]),
        (["/a/val", "/b/val"], ["a-val", "b-val"]),
        (["data/clips/val", "old/clips/val"], ["data-clips-val", "old-clips-val"]),
        (["/a/val", "/a/val"], ["a-val-1", "a-val-2"]),
        (["/data/val (1)", "/data/val: 2"], ["val _1_", "val_ 2"]),
        (["s3://b/val?endpoint_override=http://minio:9000&scheme=http"], ["val"]),
    ],
)
def test_names_differ_and_are_names(uris: list[str], names: list[str]) -> None:
    manifests: Any = [_Named(uri) for uri in uris]
    assert short_names(manifests) == names
