"""Logs of `crates/tlog` by the packages of Go's checksum database (`sumdb/`, from Debian), and theirs by ours."""

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GO_SOURCES = Path("/usr/share/gocode")
SEED = bytes(range(0x20, 0x40)).hex()
ORIGIN = "muster.example.org/audit/1"


@pytest.fixture(scope="session")
def sumdb(tmp_path_factory):
    """The program of `sumdb/`, built from Debian's packages alone."""
    go = shutil.which("go")
    assert go and (GO_SOURCES / "src/golang.org/x/mod/sumdb").is_dir(), "no Go with golang-golang-x-mod-dev: run make setup"
    program = tmp_path_factory.mktemp("sumdb") / "sumdb"
    offline = {"GO111MODULE": "off", "GOPATH": str(GO_SOURCES), "GOPROXY": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    source = Path(__file__).parent / "sumdb/main.go"
    subprocess.run([go, "build", "-o", program, source], env={**os.environ, **offline}, check=True)

    def run(*arguments):
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    program = Path(os.environ.get("MUSTER_EXAMPLES", ROOT / "target/debug/examples")) / "audit_export"
    assert program.is_file(), f"no {program}: run cargo build -p muster-tlog --example audit_export"

    def write(entries):
        folder = tmp_path_factory.mktemp(f"written-{entries}") / "log"
        subprocess.run([program, str(entries), folder], check=True)
        return folder

    return write


@pytest.mark.parametrize("entries", [1, 2, 3, 17, 40, 255, 256, 257, 512, 700])
def test_go_verifies_notes_tiles_and_proofs_of_ours(sumdb, written, entries):
    folder = written(entries)
    run = sumdb("verify", folder)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["entries"] == entries and found["notes"] == 3 and found["tiles"] > 0
    proofs = (folder / "proofs.ndjson").read_text().splitlines()
    # All n (n + 1) / 2 proofs of inclusion, and one more of consistency for each size.
    assert found["proofs"] == len(proofs) and (entries > 40 or len(proofs) == entries * (entries + 1) + entries)


@pytest.fixture
def copy(written, tmp_path):
    folder = tmp_path / "log"
    shutil.copytree(written(300), folder)
    return folder


@pytest.mark.parametrize("file", ["vkey", "checkpoint", "earlier", "tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1"])
def test_a_flipped_bit_is_refused(sumdb, copy, file):
    data = bytearray((copy / file).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / file).write_bytes(data)
    run = sumdb("verify", copy)
    assert run.returncode == 1 and run.stderr


@pytest.mark.parametrize("kind", ["index", "from"])
def test_a_proof_of_something_else_is_refused(sumdb, copy, kind):
    proofs = [json.loads(line) for line in (copy / "proofs.ndjson").read_text().splitlines()]
    proof = next(proof for proof in proofs if proof.get(kind, 0) > 1 and proof["path"])
    for wrong in [
        {**proof, kind: proof[kind] - 1},
        {**proof, "path": proof["path"][:-1]},
        {**proof, "path": [*proof["path"], proof["path"][0]]},
        {**proof, "path": [base64.b64encode(bytes(32)).decode(), *proof["path"][1:]]},
    ]:
        (copy / "proofs.ndjson").write_text(json.dumps(wrong) + "\n")
        assert sumdb("verify", copy).returncode == 1, wrong
    (copy / "proofs.ndjson").write_text(json.dumps(proof) + "\n")
    assert sumdb("verify", copy).returncode == 0


def test_an_altered_or_missing_entry_is_refused(sumdb, copy):
    export = copy / "export.ndjson"
    lines = export.read_text().splitlines(keepends=True)
    export.write_text("".join(lines).replace("key-7\"", "key-x\""))
    assert "another root" in sumdb("verify", copy).stderr
    export.write_text("".join(lines[:5] + lines[6:]))
    assert "entry 5 is missing" in sumdb("verify", copy).stderr


@pytest.mark.parametrize("entries", [1, 2, 255, 256, 257, 700])
def test_we_verify_logs_of_go(sumdb, tmp_path, entries):
    assert sumdb("write", SEED, ORIGIN, entries, tmp_path).returncode == 0
    vkey = (tmp_path / "vkey").read_text()
    # The vector of the design, whose seed this is.
    assert vkey == f"{ORIGIN}+76bd6027+ASmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X"
    export = tmp_path / "export.ndjson"
    script = [sys.executable, ROOT / "scripts/verify_audit.py", export, "--vkey", vkey]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout[:3]) == (0, "ok:"), run.stdout
    export.write_text(export.read_text().replace('key-0\\"', 'key-x\\"', 1))
    assert subprocess.run(script, capture_output=True, check=False).returncode == 1
