"""The servers that the tests speak to."""

import os
import tomllib
from pathlib import Path

import pytest
from server import ROOT, Muster, settings
from upstream import Upstream

# Names that the scripted provider is configured with; what each does is in upstream.py.
NAMES = ["echo", "acme/echo", "tiny", "waits", "tools", "writer", "vectors"]


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """Starts a server that runs until the tests end: `start(providers=..., llm=..., more=...)`."""
    running = []

    def start(providers=(), llm=None, more=""):
        folder = tmp_path_factory.mktemp("muster")
        # Without an embedded model, unless the test configures one: the start is quicker, the answers are scripted.
        llm = llm or {"cache": str(folder / "no-models")}
        running.append(Muster(folder, settings(providers, llm, more)))
        return running[-1]

    yield start
    failures = []
    for muster in running:
        try:
            muster.stop()
        except AssertionError as failure:
            failures.append(str(failure))
    assert not failures, "\n".join(failures)


@pytest.fixture(scope="session")
def upstream():
    upstream = Upstream.start()
    yield upstream
    upstream.stop()


@pytest.fixture(scope="session")
def muster(start, upstream):
    """The server in front of a provider that works."""
    return start(providers=[("scripted", upstream.base_url, NAMES)])


@pytest.fixture(scope="session")
def client(muster):
    return muster.client()


@pytest.fixture
def broken(start):
    """`broken(model)`: a client whose only provider serves that model, with a breaker that no other test affects."""
    upstreams = []

    def broken(model):
        upstreams.append(Upstream.start())
        return start(providers=[("scripted", upstreams[-1].base_url, [model])]).client()

    yield broken
    for upstream in upstreams:
        upstream.stop()


@pytest.fixture(scope="session")
def embedded(start):
    """A client of the model in process, loaded. Skipped where the model was not fetched; not where MUSTER_MODELS_DIR
    states that it was."""
    manifest = tomllib.loads((ROOT / "crates" / "models" / "models.toml").read_text())
    name = next(model["file"] for model in manifest["model"] if model["id"] == "small")
    folder = Path(os.environ.get("MUSTER_MODELS_DIR", ROOT / "models-cache")).resolve()
    if not (folder / name).exists():
        missing = f"no {name} in {folder}: python3 scripts/fetch_models.py small"
        assert "MUSTER_MODELS_DIR" not in os.environ, missing
        pytest.skip(missing)
    client = start(llm={"model": "small", "cache": str(folder)}).client(max_retries=30)
    # Loading continues after the start; until it is done the answer is 503 with Retry-After, which the client respects.
    client.chat.completions.create(model="muster-core", messages=[{"role": "user", "content": "Hi"}], max_tokens=1)
    return client.with_options(max_retries=0)
