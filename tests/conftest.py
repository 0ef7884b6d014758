"""What every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy computer is no failure: no example is timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of shared test data beside the checkout; its absence fails in CI and is said elsewhere."""
    folder = Path(os.environ.get("TABLECTL_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        message = f"the shared test data are not here: no folder {folder}; set TABLECTL_SHARED"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder
