"""The soak of `make soak`, in short: mixed load with faults, whose every request ends and whose ledger adds up."""

import asyncio
import sys

from server import ROOT, binary

sys.path.insert(0, str(ROOT / "benches" / "gateway"))

import soak  # noqa: E402

SECONDS, REQUESTS_PER_SECOND, CLIENTS = 18, 60, 24
# The requests are the same in every run; only their timing is not.
SEED = 20_260_101


def test_what_a_soak_shows_holds_for_some_seconds(tmp_path):
    lines, records = asyncio.run(soak.soak(binary(), SECONDS, REQUESTS_PER_SECOND, CLIENTS, SEED, tmp_path))
    breaches = [f"{line.what}: {line.figures}" for line in lines if not line.holds]
    assert not breaches, "\n".join(breaches)
    assert len(records) > SECONDS * REQUESTS_PER_SECOND / 2, "the server was hardly called"
