"""What the tests share. `unit`: no engine; `engine`: the real one; `field`: field reports."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mlcc_infra.engine import Engine, find_engine
from mlcc_infra.garbage import collect_rarely

TESTS = Path(__file__).parent

# Each worker loads all SDKs to collect the tests.
collect_rarely()

# Examples are what counts here; how fast they come depends on what else the machine does.
settings.register_profile("mlcc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mlcc")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in tests/engine, and what else plays a life, so that `-m "not engine"` leaves it out."""
    for item in items:
        lives = [name for name in getattr(item, "fixturenames", ()) if name.endswith("_life")]
        if lives or item.path.is_relative_to(TESTS / "engine"):
            item.add_marker(pytest.mark.engine)


@pytest.fixture(autouse=True)
def whole_tracebacks() -> Iterator[None]:
    """Dynamic resources shorten tracebacks for the whole process; the next test wants its own."""
    yield
    with contextlib.suppress(AttributeError):
        del sys.tracebacklimit


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The real Pulumi engine, as `make setup` left it. Its absence is a failure, not a skip."""
    return find_engine()


@pytest.fixture
def engine_environment(engine: Engine, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Makes the variables of a private engine run: own home, state and passphrase, no look at the network."""

    def make(**more: str) -> dict[str, str]:
        home = tmp_path / "home"
        state = tmp_path / "state"
        home.mkdir(exist_ok=True)
        state.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PULUMI_"))}
        return engine.environment(kept) | {
            "HOME": str(home),
            "PULUMI_HOME": str(home / ".pulumi"),
            "PULUMI_BACKEND_URL": f"file://{state}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **more,
        }

    return make
