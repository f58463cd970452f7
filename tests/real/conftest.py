from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project; tests that need it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data is not at {SHARED_DATA}: put it beside the project, a folder for each data set")
    return SHARED_DATA
