"""Logs of `crates/tlog` by the packages of Go's checksum database (`sumdb/`, from Debian), and theirs by ours."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import built_programs
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
    program = built_programs.example("audit_export")

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
    export.write_text("".join(lines).replace("key-7", "key-x"))
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


@pytest.fixture
def server(tmp_path):
    """A running server, and a function that reads a path below its audit log."""
    sys.path.insert(0, str(ROOT / "tests/openai_client"))
    from server import Muster

    folder = tmp_path / "server"
    folder.mkdir()
    settings = '[llm]\nmodel = "none"\n[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n[governance]\nname = "muster.example.org"\n'
    server = Muster(folder, settings)

    def read(path):
        request = urllib.request.Request(
            f"{server.origin}/api/v1/governance/audit/{path}", headers={"authorization": f"Bearer {server.key}"}
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return answer.read()

    yield server, read
    server.stop()


def test_go_verifies_the_log_of_a_running_server(sumdb, server, tmp_path):
    server, read = server
    for number in range(30):
        server.make_key(name=f"key {number}", scopes=["chat"])
    deadline = time.monotonic() + 60
    # The export ends with the newest checkpoint, which follows the entries within seconds.
    while (export := read("export").decode()).count('"action":"key_created"') < 30 or "checkpoint" not in export.splitlines()[-1]:
        assert time.monotonic() < deadline, export.splitlines()[-1]
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "export.ndjson").write_text(export)
    (folder / "vkey").write_text(json.loads(read("keys"))["keys"][0])
    note = json.loads(export.splitlines()[-1])["checkpoint"]
    (folder / "checkpoint").write_bytes(read("log/checkpoint"))
    size = int(note.split("\n")[1])
    assert 30 < size < 256
    tile = folder / f"tile/0/000.p/{size}"
    tile.parent.mkdir(parents=True)
    tile.write_bytes(read(f"log/tile/0/000.p/{size}"))
    proofs = [{"index": n, **json.loads(read(f"{n}/proof?size={size}"))} for n in range(size)]
    proofs += [json.loads(read(f"consistency?from={n}&to={size}")) for n in range(1, size + 1)]
    kept = ("index", "size", "from", "to", "path")
    (folder / "proofs.ndjson").write_text(
        "".join(json.dumps({name: proof[name] for name in kept if name in proof}) + "\n" for proof in proofs)
    )
    run = sumdb("verify", folder)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["entries"], found["notes"], found["proofs"]) == (size, 2, 2 * size) and found["tiles"] > 0
