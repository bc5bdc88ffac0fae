"""The servers of the journeys: the program, as a user starts it, each in its own folder."""

import importlib.util
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
for folder in ("openai_client", "api"):
    sys.path.insert(0, str(TESTS / folder))


def module(name, path):
    """Loads a module whose name another folder has too."""
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


for name in ("journey", "readme"):
    module(name, Path(__file__).resolve().parent / f"{name}.py")

from journey import Installation


@pytest.fixture
def installation(tmp_path):
    """`installation(settings, …)`: a server that is stopped at the end; it must end as it should."""
    made = []

    def installation(settings="", **more):
        made.append(Installation(tmp_path / f"muster{len(made)}", settings, **more))
        return made[-1]

    yield installation
    for one in made:
        one.stop()


@pytest.fixture
def upstream():
    from upstream import Upstream

    upstream = Upstream.start()
    yield upstream
    upstream.stop()
