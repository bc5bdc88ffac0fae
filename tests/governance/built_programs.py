"""Programs that the Rust build made, by absolute path: tests start them in folders of their own."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def muster():
    path = (ROOT / os.environ.get("MUSTER_BIN", TARGET / "debug/muster")).resolve()
    assert path.is_file(), f"no {path}: run make test-rust"
    return path


def example(name):
    path = (ROOT / os.environ.get("MUSTER_EXAMPLES", TARGET / "debug/examples") / name).resolve()
    assert path.is_file(), f"no {path}: run cargo build --workspace --example {name}"
    return path
