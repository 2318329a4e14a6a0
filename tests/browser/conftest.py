"""The fixtures of the integration tests, and a browser."""

import importlib.util
import pathlib
import sys

import pytest

INTEGRATION = pathlib.Path(__file__).resolve().parents[1] / "integration"
sys.path.insert(0, str(INTEGRATION))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

_spec = importlib.util.spec_from_file_location("integration_fixtures", INTEGRATION / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("__")})

import chromium  # noqa: E402


def pytest_collection_modifyitems(items):
    for item in items:
        if not chromium.PROGRAM:
            item.add_marker(pytest.mark.skip(reason="there is no chromium: deploy/packages browser"))


@pytest.fixture
def browser(tmp_path):
    one = chromium.Browser(tmp_path / "profile")
    yield one
    one.close()
