"""Whether an MLflow store can be used, checked without creating one."""

from pathlib import Path

from vtr_core.tracking.redaction import redact
from vtr_core.tracking.run import failures, open_client

_SQLITE = "sqlite:///"


def store_fault(tracking_uri: str) -> str | None:
    """Why the store at `tracking_uri` cannot be used, without secrets; None where it answers, or can be created."""
    if tracking_uri.startswith(_SQLITE):
        file = Path(tracking_uri.removeprefix(_SQLITE)).absolute()
        if not file.exists():
            return None if file.parent.is_dir() else f"there is no folder {file.parent} for it"
    try:
        open_client(tracking_uri).search_experiments(max_results=1)
    except failures() as error:
        return redact(" ".join(str(error).split()))
    return None
