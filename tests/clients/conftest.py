"""The servers that the tests of the further clients speak to: those of the openai client's tests."""

import importlib.util
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parent.parent / "openai_client"
sys.path.insert(0, str(SHARED))
spec = importlib.util.spec_from_file_location("openai_client_fixtures", SHARED / "conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)

start, upstream, muster, embedded = fixtures.start, fixtures.upstream, fixtures.muster, fixtures.embedded


@pytest.fixture
def alone(start):
    """`alone(model)`: a server whose only provider serves that model, with a breaker that no other test affects."""
    from upstream import Upstream

    upstreams = []

    def alone(model):
        upstreams.append(Upstream.start())
        return start(providers=[("scripted", upstreams[-1].base_url, [model])])

    yield alone
    for upstream in upstreams:
        upstream.stop()
