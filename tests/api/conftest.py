"""The server for generated calls: that of the openai client's tests, with a provider that accepts any model."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "openai_client"))

from server import Muster, settings  # noqa: E402
from upstream import Upstream  # noqa: E402

# No call is to be refused for those before it.
LIMITS = """
[limits]
unauthenticated = 1000000
login = 1000000
person = 1000000
device = 1000000
medical = 1000000
[limits.agent]
health = 1000000
chat = 1000000
agents = 1000000
memory = 1000000
engines = 1000000
[auth]
logins_per_address = 1000000
logins_per_minute = 1000000
argon2_memory_kib = 64
argon2_passes = 1
[images]
owner_pictures = 100000
# Budgets that calls set are not to refuse the pictures of the next ones.
[budget]
unpriced = "allow"
"""
MODELS = Path(os.environ.get("MUSTER_MODELS_DIR", Path(__file__).resolve().parents[2] / "models-cache")).resolve()
# Of the models these only: the others would make each call slow, and are tested elsewhere.
DATA = ("languages.bin", "picture-names.json")


@pytest.fixture
def muster(tmp_path):
    upstream = Upstream.start()
    cache = tmp_path / "models"
    cache.mkdir()
    for name in DATA:
        (cache / name).symlink_to(MODELS / name)
    providers = [("scripted", upstream.base_url, ["echo", "*", "gpt-image-2"])]
    muster = Muster(tmp_path, settings(providers, {"model": "none", "cache": str(cache)}) + LIMITS)
    yield muster
    muster.stop()
    upstream.stop()
