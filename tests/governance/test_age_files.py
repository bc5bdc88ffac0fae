"""Files of `crates/seal` in the format age v1, read by pyrage and by Debian's `age`, and theirs read by it."""

import shutil
import subprocess

import built_programs
import pyrage
import pytest

SIZES = [0, 1, 65535, 65536, 65537, 131072, 300_000]


@pytest.fixture(scope="session")
def ours():
    program = built_programs.example("age_file")

    def run(*arguments, data):
        return subprocess.run([program, *map(str, arguments)], input=data, capture_output=True, check=False)

    return run


@pytest.fixture(scope="session")
def age():
    found = shutil.which("age")
    assert found, "no age: run make setup"
    return found


def content(size):
    return bytes(n % 251 for n in range(size))


@pytest.mark.parametrize("size", SIZES)
def test_pyrage_reads_our_files_and_we_read_its(ours, size):
    one, two = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
    written = ours("encrypt", one.to_public(), two.to_public(), data=content(size)).stdout
    assert pyrage.decrypt(written, [one]) == pyrage.decrypt(written, [two]) == content(size)
    with pytest.raises(pyrage.DecryptError):
        pyrage.decrypt(written[:-1], [one])
    theirs = pyrage.encrypt(content(size), [one.to_public(), two.to_public()])
    assert ours("decrypt", one, data=theirs).stdout == content(size)
    assert ours("decrypt", two, data=theirs).stdout == content(size)


@pytest.mark.parametrize("size", SIZES)
def test_debians_age_reads_our_files_and_we_read_its(ours, age, tmp_path, size):
    identity = pyrage.x25519.Identity.generate()
    key = tmp_path / "key"
    key.write_text(f"{identity}\n")
    written = ours("encrypt", identity.to_public(), data=content(size)).stdout
    read = subprocess.run([age, "--decrypt", "--identity", key], input=written, capture_output=True, check=True)
    assert read.stdout == content(size)
    encrypted = subprocess.run([age, "--recipient", str(identity.to_public())], input=content(size), capture_output=True, check=True)
    assert ours("decrypt", identity, data=encrypted.stdout).stdout == content(size)


def test_altered_cut_and_foreign_files_of_others_are_refused(ours):
    identity, other = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
    theirs = pyrage.encrypt(content(100), [identity.to_public()])
    assert ours("decrypt", identity, data=theirs).returncode == 0
    for file in [theirs[:-1], theirs[:-1] + bytes([theirs[-1] ^ 1]), theirs + b"x", theirs[:50], b""]:
        refused = ours("decrypt", identity, data=file)
        assert refused.returncode == 1 and refused.stdout == b""
    assert b"OtherRecipients" in ours("decrypt", other, data=theirs).stderr
    assert ours("decrypt", identity, data=pyrage.passphrase.encrypt(content(9), "words")).returncode == 1
