"""One store for all tests, and the environment that reaches it, directly or through a proxy that can fail."""

from collections.abc import Iterator

import pytest

from tests.s3.proxy import Proxy
from tests.s3.store import Store, running_store


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    with running_store() as running:
        yield running


@pytest.fixture
def folder(store: Store, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty folder, reachable from this process."""
    for name, value in store.env.items():
        monkeypatch.setenv(name, value)
    return store.folder()


@pytest.fixture
def proxy(folder: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """This process reaches the store through it, and is patient for a few seconds."""
    between = Proxy(store.endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL", between.endpoint)
    monkeypatch.setenv("VTR_S3_PATIENCE_S", "20")
    yield between
    between.refuse()
