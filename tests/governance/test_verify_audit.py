"""`scripts/verify_audit.py` on exports that packages of other people write: canonical JSON by rfc8785, trees by pymerkle,
signatures by PyNaCl. And the other way round: exports of `crates/tlog` (examples/audit_export.rs) by the script and by
those packages."""

import base64
import hashlib
import importlib.util
import json
import random
import struct
import subprocess
import sys
from pathlib import Path

import built_programs
import nacl.signing
import pymerkle
import pytest
import rfc8785

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "verify_audit.py"
spec = importlib.util.spec_from_file_location("verify_audit", SCRIPT)
verify_audit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify_audit)

ORIGIN = "muster.example.org/audit/1"
SIGNER = nacl.signing.SigningKey(bytes(range(0x20, 0x40)))


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def vkey(name=ORIGIN, signer=SIGNER):
    public = b"\x01" + signer.verify_key.encode()
    key_id = hashlib.sha256(name.encode() + b"\n" + public).hexdigest()[:8]
    return f"{name}+{key_id}+{b64(public)}"


def note(size, root, origin=ORIGIN, name=ORIGIN, signer=SIGNER):
    text = f"{origin}\n{size}\n{b64(root)}\n"
    key_id = bytes.fromhex(vkey(name, signer).split("+")[1])
    return f"{text}\n\u2014 {name} {b64(key_id + signer.sign(text.encode()).signature)}\n"


def entry(seq, **more):
    return {"v": 2, "id": f"aud_{seq:026}", "at": "2026-11-26T02:00:00Z", "actor": f"usr_{seq % 7}", "action": "key.grant",
            "resource": f"key-{seq}", "outcome": "ok", **more}


def line(seq, erased=False):
    salt = hashlib.sha256(b"%d" % seq).digest()[:16]
    details = {"name": f"Ключ \U0001f511 {seq}", "usd": seq / 8, "\ufb33": [], "\U0001f600": None, "n": seq}
    commitment = b64url(hashlib.sha256(salt + rfc8785.dumps(details)).digest())
    shown = entry(seq, details=commitment)
    salt, details = (None, None) if erased else (b64url(salt), details)
    return {"seq": seq, "entry": shown, "leaf": rfc8785.dumps(shown).decode(), "salt": salt, "details": details}


def next_last(text):
    """Base64 whose last character differs in its unused bits: a second encoding of the same bytes."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    return text[:-1] + alphabet[alphabet.index(text[-1]) + 1]


def log(size):
    return [line(seq, erased=seq % 3 == 1) for seq in range(size)]


def tree(lines):
    merkle = pymerkle.InmemoryTree(algorithm="sha256")
    for row in lines:
        merkle.append_entry(row["leaf"].encode())
    return merkle


def leaf_hash(row):
    return hashlib.sha256(b"\x00" + row["leaf"].encode()).digest()


def text_of(lines, checkpoint, **beside):
    rows = [*lines, {"checkpoint": checkpoint, **beside}]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def export(lines):
    return text_of(lines, note(len(lines), tree(lines).get_root()))


@pytest.fixture
def verdict(tmp_path, capsys):
    """The verdict of the script; `muster audit verify`, which shares no code with it, must say the same."""
    muster = built_programs.muster()

    def of_muster(path, arguments, key):
        key = ["--vkey", key] if key else ["--unsigned"] if "--unsigned" not in arguments else []
        run = subprocess.run([muster, "audit", "verify", path, *arguments, *key], capture_output=True, text=True, cwd=tmp_path)
        said = run.stdout.strip()
        assert run.returncode == (0 if said.startswith("ok: ") else 1), (said, run.stderr)
        return said

    def run(data, *arguments, key=vkey(), agree=True):
        path = tmp_path / "export.ndjson"
        path.write_bytes(data)
        arguments = [str(argument) for argument in arguments]
        code = verify_audit.main([str(path), *arguments, *(["--vkey", key] if key else [])])
        said = capsys.readouterr().out.strip()
        assert (code == 0) == said.startswith("ok: ")
        # The tiles of a copy are read by the script alone.
        if agree and "--tiles" not in arguments:
            other = of_muster(path, arguments, key)
            assert other.split(": ")[0] == said.split(": ")[0], (other, said)
            assert not said.startswith("ok: ") or other == said
        return said

    return run


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 255, 256, 257, 1000])
def test_exports_of_every_shape_are_ok(verdict, size):
    lines = log(size)
    root = tree(lines).get_root()
    assert verdict(export(lines)) == f"ok: {size} entries of {ORIGIN}, root {b64(root)}"


def test_an_empty_log_is_ok(verdict):
    assert verdict(export([])).startswith("ok: 0 entries")


def test_every_changed_byte_is_named_by_its_entry(verdict):
    data = export(log(4))
    ends = [at for at, byte in enumerate(data) if byte == 0x0A]
    for at in range(len(data)):
        altered = bytearray(data)
        altered[at] ^= 1 << at % 8
        said = verdict(bytes(altered), agree=at % 29 == 0)
        number = sum(at > end for end in ends)
        if number < 4:
            assert said.startswith(f"altered at {number}: "), (at, said)
        else:
            assert said.split(":")[0] in ("altered at 4", "bad signature", "root mismatch", "tail missing"), (at, said)


def test_an_entry_altered_with_its_leaf_is_found_by_the_root_and_named_by_the_tiles(verdict, tmp_path):
    lines = log(600)
    signed = note(600, tree(lines).get_root())
    for number in range(3):
        folder = tmp_path / "tile" / "0"
        (folder / "002.p").mkdir(parents=True, exist_ok=True)
        path = folder / ("002.p/88" if number == 2 else f"{number:03}")
        path.write_bytes(b"".join(map(leaf_hash, lines[number * 256 : number * 256 + 256])))
    forged = lines.copy()
    shown = {**lines[300]["entry"], "outcome": "refused"}
    forged[300] = {**lines[300], "entry": shown, "leaf": rfc8785.dumps(shown).decode()}
    assert verdict(text_of(lines, signed), "--tiles", tmp_path).startswith("ok: ")
    assert verdict(text_of(forged, signed)).startswith("root mismatch: ")
    assert verdict(text_of(forged, signed), "--tiles", tmp_path).startswith("altered at 300: ")
    # Tiles that were altered too prove nothing.
    (tmp_path / "tile" / "0" / "000").write_bytes(bytes(8192))
    assert verdict(text_of(forged, signed), "--tiles", tmp_path).startswith("root mismatch: ")


def test_entries_that_are_missing_moved_or_added(verdict):
    lines = log(9)
    signed = note(9, tree(lines).get_root())
    assert verdict(text_of(lines[:3] + lines[4:], signed)).startswith("altered at 3: ")
    assert verdict(text_of(lines[:3] + [lines[4], lines[3]] + lines[5:], signed)).startswith("altered at 3: ")
    assert verdict(text_of(lines[1:], signed)).startswith("altered at 0: ")
    assert verdict(text_of(lines[:7], signed)).startswith("tail missing: ")
    assert verdict(text_of(log(10), signed)).startswith("altered at 9: ")
    whole = export(lines)
    assert verdict(whole[: whole.rindex(b"\n", 0, -1) + 1]).startswith("tail missing: ")
    assert verdict(b"").startswith("tail missing: ")
    assert verdict(whole + json.dumps(line(9)).encode() + b"\n").startswith("altered at 9: ")
    assert verdict(whole + whole.splitlines(keepends=True)[-1]).startswith("altered at 9: ")


@pytest.mark.parametrize("change", [
    {"details": None}, {"salt": None}, {"salt": "AAAA"}, {"salt": 7}, {"details": {"name": "x"}}, {"extra": 1}, {"seq": 3.0},
    {"seq": True}, {"salt": next_last(line(3)["salt"])}, {"entry": None}, {"leaf": None}, {"leaf": "{}"}, {"entry": {}, "leaf": "{}"},
], ids=str)
def test_a_line_that_contradicts_itself(verdict, change):
    lines = log(4)
    lines[3] = {**lines[3], **change}
    assert verdict(export(lines) if isinstance(lines[3]["leaf"], str) else text_of(lines, note(4, bytes(32)))).startswith(
        "altered at 3: ")


@pytest.mark.parametrize("raw", [
    b'{"seq":0,"seq":0}', b'{"seq":9007199254740993}', b'{"seq":NaN}', b'{"a":"\\ud800"}', b"[]", b"1", b"\xff", b"[" * 100000,
    b'{"a":' * 40 + b"1" + b"}" * 40, b'{"a":1e400}', b"{" + b" " * (5 << 20) + b"}",
], ids=lambda raw: repr(raw[:24]))
def test_a_line_that_readers_understand_differently(verdict, raw):
    assert verdict(raw + b"\n" + export(log(2))).startswith("altered at 0: ")


@pytest.mark.parametrize("details", [
    '{"n":1,"n":2}', '{"n":9007199254740993}', '{"n":-9007199254740992}', '{"n":NaN}', '{"n":-Infinity}',
    '{"n":"\\ud800"}', '{"n":' + "[" * 40 + "]" * 40 + "}",
], ids=lambda text: text[:24])
def test_details_that_readers_understand_differently_though_their_commitment_holds(verdict, details):
    salt = bytes(16)
    # What a reader that takes them would hash: the last of two members, the others as they stand.
    hashed = '{"n":2}' if details == '{"n":1,"n":2}' else details
    shown = entry(0, details=b64url(hashlib.sha256(salt + hashed.encode()).digest()))
    row = {"seq": 0, "entry": shown, "leaf": rfc8785.dumps(shown).decode(), "salt": b64url(salt), "details": "HERE"}
    data = export([row]).replace(b'"HERE"', details.encode())
    assert verdict(data).startswith("altered at 0: the line is not unambiguous JSON")
    allowed = shown | {"details": b64url(hashlib.sha256(salt + b'{"n":2}').digest())}
    row |= {"entry": allowed, "leaf": rfc8785.dumps(allowed).decode(), "details": {"n": 2}}
    assert verdict(export([row])).startswith("ok: ")


def test_signatures_of_others(verdict):
    lines, other = log(3), nacl.signing.SigningKey(bytes(32))
    root = tree(lines).get_root()
    for forged in [
        note(3, root, signer=other),
        note(3, root, name="other.example"),
        note(3, root, origin="muster.example.org/audit/2"),
        note(3, root).replace("\n3\n", "\n4\n"),
        note(3, root).replace("\n\n", "\n"),
        note(3, root).strip(),
        note(3, root).replace("\u2014 ", "- "),
        next_last(note(3, root)[:-2]) + "=\n",
        "",
        7,
    ]:
        assert verdict(text_of(lines, forged)).startswith("bad signature: "), forged
    both = note(3, root, name="witness.example", signer=other) .split("\n")[-2]
    assert verdict(text_of(lines, note(3, root) + both + "\n")).startswith("ok: ")
    assert verdict(text_of(lines, note(3, root, signer=other)), "--unsigned", key=None).endswith("SIGNATURE NOT CHECKED")


def test_a_signature_in_a_second_encoding_is_refused():
    message, key = b"message", SIGNER.verify_key.encode()
    signature = SIGNER.sign(message).signature
    assert verify_audit.signed(key, message, signature)
    scalar = int.from_bytes(signature[32:], "little") + verify_audit.L
    assert not verify_audit.signed(key, message, signature[:32] + scalar.to_bytes(32, "little"))
    # The neutral element as key and commitment: valid for every message, if it were permitted.
    neutral = (1).to_bytes(32, "little")
    assert not verify_audit.signed(neutral, message, neutral + bytes(32))
    assert not verify_audit.signed(key, message, b"")


def test_ed25519_agrees_with_pynacl():
    chance = random.Random(8032)
    for length in range(40):
        signer = nacl.signing.SigningKey(chance.randbytes(32))
        message = chance.randbytes(length)
        signature = signer.sign(message).signature
        assert verify_audit.signed(signer.verify_key.encode(), message, signature)
        altered = bytearray(signature)
        altered[chance.randrange(64)] ^= 1 << chance.randrange(8)
        assert not verify_audit.signed(signer.verify_key.encode(), message, bytes(altered))
        assert not verify_audit.signed(signer.verify_key.encode(), message + b"x", signature)


def test_an_earlier_checkpoint_shows_a_fork(verdict, tmp_path):
    lines = log(300)
    kept = tmp_path / "kept"
    for size in [0, 1, 100, 256, 300]:
        kept.write_text(note(size, tree(lines[:size]).get_root()))
        assert verdict(export(lines), "--against", kept).startswith("ok: ")
        # Entries before the kept checkpoint were replaced, and the whole signed again.
        if size:
            forged = [line(0, erased=True), *lines[1:]]
            shown = entry(0)
            forged[0] = {**forged[0], "entry": shown, "leaf": rfc8785.dumps(shown).decode()}
            assert verdict(export(forged)).startswith("ok: ")
            assert verdict(export(forged), "--against", kept).startswith("fork: ")
    # Entries were dropped, and the rest signed again.
    assert verdict(export(lines[:200]), "--against", kept).startswith("tail missing: ")
    kept.write_text(note(100, bytes(32), signer=nacl.signing.SigningKey(bytes(32))))
    assert verdict(export(lines), "--against", kept).startswith("bad signature: ")


def test_a_part_of_a_log_with_the_hashes_beside_it(verdict):
    lines = log(300)
    hashes = [leaf_hash(row) for row in lines]

    def beside(start, end):
        def root(height, first):
            half = 1 << height >> 1
            return hashes[first] if height == 0 else hashlib.sha256(
                b"\x01" + root(height - 1, first) + root(height - 1, first + half)).digest()

        return [b64(root(*shape)) for shape in verify_audit.shapes(start, end)]

    signed = note(300, tree(lines).get_root())
    for start, end in [(0, 299), (1, 300), (100, 200), (255, 257), (37, 38), (128, 256)]:
        around = {"before": beside(0, start), "after": beside(end, 300)}
        part = text_of(lines[start:end], signed, **around)
        assert verdict(part, "--first", start, "--part").startswith(f"ok: {end - start} of 300 entries")
        if end < 300:
            assert verdict(part, "--first", start).startswith("tail missing: ")
        wrong = text_of(lines[start:end], signed, before=around["before"], after=around["after"][:-1] + [b64(bytes(32))])
        assert verdict(wrong, "--first", start, "--part").startswith(("root mismatch: ", "tail missing: "))
        moved = text_of(lines[start:end], signed, **around)
        assert verdict(moved, "--first", start + 1).startswith(f"altered at {start + 1}: ")


def test_canonical_json_agrees_with_rfc8785():
    chance = random.Random(8785)
    reader = verify_audit.Json()

    def double():
        while True:
            number = struct.unpack("<d", chance.randbytes(8))[0]
            if number == number and abs(number) != float("inf"):
                return number

    def value(depth):
        kind = chance.randrange(8 if depth else 6)
        if kind < 6:
            return [None, True, double(), chance.randrange(-(2**53) + 1, 2**53), round(chance.uniform(-1e7, 1e7), 3),
                    "".join(chr(chance.choice([0, 9, 10, 34, 92, 127, 0x2028, 0x20AC, 0xFB33, 0x1F600, 97])) for _ in range(3))
                    ][kind]
        if kind == 6:
            return [value(depth - 1) for _ in range(3)]
        return {str(value(0)): value(depth - 1) for _ in range(4)}

    for _ in range(3000):
        expected = value(4)
        text = json.dumps(expected, ensure_ascii=chance.random() < 0.5)
        assert reader.write(reader.read(text)) == rfc8785.dumps(expected)


# RFC 8785, appendix B.
@pytest.mark.parametrize("bits, text", [
    (0x8000000000000000, "0"), (0x0000000000000001, "5e-324"), (0x7FEFFFFFFFFFFFFF, "1.7976931348623157e+308"),
    (0xC340000000000000, "-9007199254740992"), (0x4430000000000000, "295147905179352830000"),
    (0x44B52D02C7E14AF6, "1e+23"), (0x444B1AE4D6E2EF4F, "999999999999999900000"), (0x444B1AE4D6E2EF50, "1e+21"),
    (0x3EB0C6F7A0B5ED8C, "9.999999999999997e-7"), (0x3EB0C6F7A0B5ED8D, "0.000001"),
    (0xBECBF647612F3696, "-0.0000033333333333333333"), (0x43143FF3C1CB0959, "1424953923781206.2"),
])
def test_numbers_of_the_rfc(bits, text):
    assert verify_audit.ecmascript(struct.unpack(">d", bits.to_bytes(8, "big"))[0]) == text


def test_the_vector_of_the_design():
    assert vkey() == "muster.example.org/audit/1+76bd6027+ASmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X"
    example = ("This is an example message.\n\n\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1E"
               "RYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n")
    text, _, signature = example.rpartition("\n\n")
    key = verify_audit.Key("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
    verify_audit.Checkpoint.verify((text + "\n").encode(), signature.splitlines(), [key])


@pytest.mark.parametrize("arguments", [
    [], ["x"], ["x", "--vkey", "none"], ["x", "--vkey", vkey(), "--unsigned"], ["x", "--vkey", vkey()[:-1] + "Y"],
    ["x", "--vkey", vkey().replace("audit/1", "audit/2")], ["/none/such", "--unsigned"],
], ids=str)
def test_wrong_arguments_exit_with_2(arguments):
    assert subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True).returncode == 2


def test_help_has_examples_and_standard_input_is_read():
    said = subprocess.run([sys.executable, SCRIPT, "--help"], capture_output=True, text=True, check=True).stdout
    assert "examples:" in said and "--against" in said
    run = subprocess.run([sys.executable, SCRIPT, "-", "--vkey", vkey()], input=export(log(3)), capture_output=True)
    assert (run.returncode, run.stdout[:5]) == (0, b"ok: 3")


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    program = built_programs.example("audit_export")

    def write(entries):
        folder = tmp_path_factory.mktemp(f"written-{entries}")
        subprocess.run([program, str(entries), folder], check=True)
        return folder

    return write


@pytest.mark.parametrize("entries", [1, 2, 256, 700])
def test_exports_of_the_rust_crate(written, verdict, entries):
    folder = written(entries)
    data, key = (folder / "export.ndjson").read_bytes(), (folder / "vkey").read_text()
    assert key == vkey()
    rows = [json.loads(row) for row in data.splitlines()]
    merkle = tree(rows[:-1])
    for row in rows[:-1]:
        assert rfc8785.dumps(row["entry"]).decode() == row["leaf"]
        if row["salt"]:
            salt = base64.urlsafe_b64decode(row["salt"] + "==")
            assert row["entry"]["details"] == b64url(hashlib.sha256(salt + rfc8785.dumps(row["details"])).digest())
    assert rows[-1]["checkpoint"] == note(entries, merkle.get_root())
    assert (folder / "earlier").read_text() == note(entries // 2, merkle.get_root(entries // 2))
    arguments = ["--tiles", folder, "--against", folder / "earlier"]
    assert verdict(data, *arguments, key=key).startswith(f"ok: {entries} entries")
    altered = data.replace(b'"resource":"key-%d"' % (entries // 2), b'"resource":"key-x"')
    assert verdict(altered, *arguments, key=key).startswith(f"altered at {entries // 2}: ")


def test_proofs_of_the_rust_crate(written):
    folder = written(700)
    rows = [json.loads(row) for row in (folder / "export.ndjson").read_text().splitlines()]
    merkle = tree(rows[:-1])
    head, checkpoint = (folder / "proof").read_text().split("\n\n", 1)
    header, index, *path = head.split("\n")
    assert (header, index, checkpoint) == ("c2sp.org/tlog-proof@v1", "index 350", rows[-1]["checkpoint"])
    # pymerkle's path begins with the leaf itself, and counts leaves from 1.
    theirs = merkle.prove_inclusion(351, 700)
    pymerkle.verify_inclusion(leaf_hash(rows[350]), merkle.get_root(), theirs)
    assert path == [b64(value) for value in theirs.path[1:]]
