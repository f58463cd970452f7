"""The Hugging Face hub: a folder published as a model's repository, and fetched again."""

from pathlib import Path
from typing import Any

from vtr_core.errors import ConfigError
from vtr_core.storage.fault import StorageError

PREFIX = "hub:"


def publish_to_hub(folder: Path, name: str, public: bool) -> str:
    """Make the repository owner/name, if it is not there, and upload the folder's files; the commit's URL.

    Credentials are the client's own (`hf auth login` or HF_TOKEN). ConfigError without the client, StorageError where
    the hub refuses or cannot be reached.
    """
    hub = client()
    check_hub_name(name)
    try:
        hub.create_repo(name, private=not public, exist_ok=True)
        return str(hub.upload_folder(repo_id=name, folder_path=str(folder), commit_message="vtr export").commit_url)
    except Exception as error:  # the client's own faults, those of its transport, and refused values
        raise StorageError(f"{PREFIX}{name} cannot be written: {' '.join(str(error).split())[:300]}") from error


def fetch_from_hub(uri: str) -> Path:
    """The newest files of `hub:owner/name`, in the client's cache on this machine; StorageError where it cannot be."""
    hub, name = client(), uri.removeprefix(PREFIX)
    check_hub_name(name)
    try:
        return Path(hub.snapshot_download(name))
    except Exception as error:
        raise StorageError(f"{uri} cannot be read: {' '.join(str(error).split())[:300]}") from error


def check_hub_name(name: str) -> None:
    """ConfigError unless `name` is owner/name."""
    owner, _, model = name.partition("/")
    if not owner or not model or "/" in model or ".." in name or any(letter.isspace() for letter in name):
        raise ConfigError(f"{PREFIX}{name} is no model of the hub; give hub:owner/name")


def client() -> Any:
    """The API of the hub that the client is set to."""
    import huggingface_hub

    return huggingface_hub.HfApi()
