"""Backups of the program, read and written by packages that other people wrote: pyrage, Debian's `age`, PyNaCl."""

import base64
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess

import built_programs
import nacl.signing
import pyrage
import pytest
import rfc8785

DOMAIN = b"muster.backup.v1\0"


def crc32c(data, crc=0):
    """CRC-32C (RFC 3720, appendix B.4), continued from an earlier value."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def entry(number):
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    return number


TABLE = [entry(number) for number in range(256)]


@pytest.fixture
def muster(tmp_path):
    program = built_programs.muster()

    def run(*arguments):
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        return subprocess.run(
            [program, *map(str, arguments)], cwd=tmp_path, env=kept, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    return run


@pytest.fixture
def identity(tmp_path):
    identity = pyrage.x25519.Identity.generate()
    (tmp_path / "identity").write_text(f"{identity}\n")
    return identity


@pytest.fixture
def backup(muster, identity, tmp_path):
    """The content of a backup of a folder with one key."""
    assert muster("keys", "--data", "data", "create", "--name", "a-name-to-edit", "--scope", "chat").returncode == 0
    made = muster("backup", "--data", "data", "--to", "made.age", "--recipient", identity.to_public())
    assert made.returncode == 0, made.stderr
    return pyrage.decrypt((tmp_path / "made.age").read_bytes(), [identity])


def header_of(content):
    assert content[:8] == b"MUSTBAK1"
    (length,) = struct.unpack("<I", content[8:12])
    return content[12 : 12 + length], 12 + length


def seed_of(folder):
    keys = json.loads((folder / "data/signing/log-keys.json").read_text())["keys"]
    return base64.urlsafe_b64decode(keys[0]["seed"] + "=")


def signed(content, seed):
    """The content with another signature."""
    rest = content[:-64]
    return rest + nacl.signing.SigningKey(seed).sign(DOMAIN + hashlib.sha256(rest).digest()).signature


def edited(content, text, by):
    """The content with a text of its records replaced, and the checksums mended."""
    _, start = header_of(content)
    out, at, size, chain, count = bytearray(content[:start]), start, 16, 0, 0
    while True:
        item = content[at : at + size]
        count += item.count(text)
        item = item.replace(text, by)
        chain = crc32c(item, chain)
        out += item + struct.pack("<I", chain)
        at += size + 4
        if item[0] == 255:
            return bytes(out) + content[at:], count
        size = 9 if content[at] == 255 else 5 + struct.unpack("<I", content[at + 1 : at + 5])[0]


def test_the_checksum_is_that_of_the_rfc():
    # RFC 3720, appendix B.4: 32 bytes of zeroes, of ones, and ascending.
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(bytes(range(16, 32)), crc32c(bytes(range(16)))) == 0x46DD794E


def test_header_and_signature_are_what_others_compute(backup, tmp_path):
    text, _ = header_of(backup)
    header = json.loads(text)
    assert rfc8785.dumps(header) == text
    name, key_id, encoded = header["vkeys"][0].split("+", 2)
    public = base64.b64decode(encoded)
    assert name == header["origin"] == f"{header['instance']}/audit/1" and public[0] == 1
    assert key_id == hashlib.sha256(name.encode() + b"\n" + public).hexdigest()[:8]
    message = DOMAIN + hashlib.sha256(backup[:-64]).digest()
    nacl.signing.VerifyKey(public[1:]).verify(message, backup[-64:])
    assert signed(backup, seed_of(tmp_path)) == backup, "Ed25519 is deterministic"


def test_debians_age_reads_ours_and_we_read_its_and_pyrages(muster, identity, backup, tmp_path):
    age = shutil.which("age")
    assert age, "no age: run make setup"
    read = subprocess.run([age, "--decrypt", "--identity", "identity", "made.age"], cwd=tmp_path, capture_output=True, check=True)
    assert read.stdout == backup
    recipient = str(identity.to_public())
    theirs = subprocess.run([age, "--recipient", recipient], input=backup, capture_output=True, check=True).stdout
    vkey = json.loads(header_of(backup)[0])["vkeys"][0]
    for number, file in enumerate([theirs, pyrage.encrypt(backup, [identity.to_public()])]):
        (tmp_path / "theirs.age").write_bytes(file)
        restored = muster("restore", "--from", "theirs.age", "--identity", "identity", "--vkey", vkey, "--data", f"there-{number}")
        assert restored.returncode == 0, restored.stderr
        assert "a-name-to-edit" in muster("keys", "--data", f"there-{number}", "list").stdout
    other = pyrage.x25519.Identity.generate()
    (tmp_path / "theirs.age").write_bytes(pyrage.encrypt(backup, [other.to_public()]))
    refused = muster("restore", "--from", "theirs.age", "--identity", "identity", "--vkey", vkey, "--data", "nowhere")
    assert refused.returncode == 1 and "other recipients" in refused.stderr


def another_secret(content):
    """A byte of the key's hash, and the neighbour of it that has as many digits."""
    text = re.search(rb'"secret_sha256":\[(\d+),', content)
    return text[0], b'"secret_sha256":[%d,' % (int(text[1]) ^ 1)


@pytest.mark.parametrize("change, by_the_key, said", [
    (lambda content: (b"a-name-to-edit", b"b-name-to-edit"), False, "is not valid"),
    (another_secret, False, "is not valid"),
    (another_secret, True, "says that it allows something else"),
    (lambda content: (b"a-name-to-edit", b"a-name-to-edit"), True, None),
], ids=["name", "secret", "signed secret", "nothing"])
def test_an_edited_record_is_refused(muster, identity, backup, tmp_path, change, by_the_key, said):
    """Mended checksums do not pass the signature; signed with the key of the log, they contradict the log."""
    content, count = edited(backup, *change(backup))
    assert count >= 1 and (content == backup) == (said is None)
    if by_the_key:
        content = signed(content, seed_of(tmp_path))
    (tmp_path / "edited.age").write_bytes(pyrage.encrypt(content, [identity.to_public()]))
    vkey = json.loads(header_of(backup)[0])["vkeys"][0]
    done = muster("restore", "--from", "edited.age", "--identity", "identity", "--vkey", vkey, "--data", "there")
    if said is None:
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 1 and said in done.stderr, done.stdout + done.stderr
    assert not (tmp_path / "there/live").exists()
