#!/usr/bin/env python3
"""Verifies an export of the audit log offline, with the standard library alone and no code of the server.

An export is what `GET /api/v1/governance/audit/export` returns: one JSON object a line, an entry each, and at the end the
signed checkpoint. Verified are

  - each entry: `leaf` is the canonical form (RFC 8785) of `entry`; its commitment to the details is SHA-256 of `salt` and
    the canonical form of `details`, unless both were erased; the numbers `seq` have no gaps;
  - the tree: the Merkle tree hash (RFC 6962, section 2.1) over all leaves is the root of the checkpoint;
  - the checkpoint (C2SP tlog-checkpoint): its signature (C2SP signed-note, Ed25519) is that of the given key;
  - earlier checkpoints that somebody kept (--against): the log still begins with what they signed.

The verdict is one line: `ok` (exit code 0), `altered at N`, `tail missing`, `root mismatch`, `bad signature` or `fork` (1).
Wrong arguments and unreadable files end with 2.

An entry that was altered together with its leaf is consistent in itself: only the root differs. The tiles of the log
(--tiles, C2SP tlog-tiles, from `GET /api/v1/governance/audit/log/tile/0/...`) then show which entry it is.
"""

import argparse
import base64
import binascii
import hashlib
import json
import math
import re
import sys
from pathlib import Path

EXAMPLES = """examples:
  verify_audit.py export.ndjson --vkey muster.example.org/audit/1+76bd6027+ASmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X
  verify_audit.py export.ndjson --vkey VKEY --against checkpoint-of-may.txt --against checkpoint-of-june.txt
  verify_audit.py export.ndjson --vkey VKEY --tiles mirror/
  curl -H "Authorization: Bearer $KEY" https://HOST/api/v1/governance/audit/export | verify_audit.py - --vkey VKEY

The key must come by another way than the export: who can alter the one must not be able to alter the other.
"""

MAX_LINE = 4 << 20
MAX_LEAF = 2048
MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 34
TILE = 256
PLAIN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


class Verdict(Exception):
    """A verdict other than `ok`, and the reason."""


# ---- Canonical JSON: RFC 8785 ----


class Json:
    """Reads texts that every reader understands alike, and writes their canonical form."""

    def __init__(self):
        self.plain = True
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self.members, parse_int=self.integer, parse_float=self.double, parse_constant=self.double
        )

    def read(self, text):
        self.plain = True
        value = self.decoder.decode(text)
        if text.count("{") + text.count("[") > MAX_DEPTH and depth(value) > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
        # Fails for half of a surrogate pair, which only an escape can have brought in.
        json.dumps(value if "\\u" in text else None, ensure_ascii=False).encode()
        return value

    def members(self, pairs):
        members = dict(pairs)
        if len(members) != len(pairs):
            raise ValueError("a name is repeated")
        # Code points and UTF-16 code units sort alike below the surrogates.
        if any(name and max(name) > "\ud7ff" for name in members):
            self.plain = False
        return members

    def integer(self, text):
        number = int(text) if len(text) < 20 else MAX_INTEGER + 1
        if abs(number) > MAX_INTEGER:
            raise ValueError("an integer is beyond 2^53 - 1")
        return number

    def double(self, text):
        self.plain = False
        number = float(text)
        if math.isinf(number) or math.isnan(number):
            raise ValueError(f"{text} is no number of JSON")
        return number

    def write(self, value):
        """The canonical form of a value that was read last."""
        return (PLAIN(value) if self.plain else canonical(value)).encode()


def depth(value):
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if members is None else 1 + max(map(depth, members), default=0)


def canonical(value):
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(member)}" for name, member in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return ecmascript(value)
    return PLAIN(value)


def ecmascript(number):
    """Number::toString of ECMAScript (RFC 8785, section 3.2.2.3)."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + f"e{point - 1:+d}"
    return sign + text


# ---- Ed25519: RFC 8032, sections 5.1 and 6 ----

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def plus(one, two):
    a, b = (one[1] - one[0]) * (two[1] - two[0]) % P, (one[1] + one[0]) * (two[1] + two[0]) % P
    c, d = 2 * one[3] * two[3] * D % P, 2 * one[2] * two[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = plus(result, point)
        point = plus(point, point)
        scalar >>= 1
    return result


def equal(one, two):
    return (one[0] * two[2] - two[0] * one[2]) % P == 0 and (one[1] * two[2] - two[1] * one[2]) % P == 0


def point_of(encoded):
    """The point of 32 bytes, or None: not on the curve, not the only encoding, or of low order."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    point = (x, y, 1, x * y % P)
    return None if equal(times(8, point), (0, 1, 1, 0)) else point


BASE = point_of(bytes([0x58] + [0x66] * 31))


def signed(public, message, signature):
    """Whether a signature is valid in the strict sense: without cofactor, each value in its only encoding."""
    key, commitment = point_of(public), point_of(signature[:32]) if len(signature) == 64 else None
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or scalar >= L:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    return equal(times(scalar, BASE), plus(commitment, times(challenge, key)))


# ---- Notes and checkpoints: C2SP signed-note, tlog-checkpoint ----


def base64_bytes(text, url=False):
    """Decodes base64 in its only encoding: standard with padding, or base64url without. None for anything else."""
    try:
        if url:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            return data if base64.urlsafe_b64encode(data).decode().rstrip("=") == text else None
        data = base64.b64decode(text, validate=True)
        return data if base64.b64encode(data).decode() == text else None
    except (binascii.Error, TypeError, ValueError):
        return None


class Key:
    """A verifier key: <name>+<key id>+<base64 of type and Ed25519 key>."""

    def __init__(self, text):
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        data = base64_bytes(encoded)
        if not name or re.search(r"\s", name) or data is None or len(data) != 33 or data[0] != 1:
            raise ValueError("it is not <name>+<key id>+<base64 of an Ed25519 key with its type>")
        if hashlib.sha256(name.encode() + b"\n" + data).digest()[:4].hex() != key_id:
            raise ValueError("its key id is not that of its name and key")
        if point_of(data[1:]) is None:
            raise ValueError("it is no valid Ed25519 key")
        self.name, self.key_id, self.public = name, bytes.fromhex(key_id), data[1:]


class Checkpoint:
    """A checkpoint that one of `keys` signed; any, if `keys` is None."""

    def __init__(self, note, keys, origin):
        if re.search("[\x00-\x09\x0b-\x1f]", note) or not note.endswith("\n"):
            raise Verdict("bad signature", "the checkpoint is no signed note")
        text, _, lines = note.rpartition("\n\n")
        text += "\n"
        self.verify(text.encode(), lines.splitlines(), keys)
        fields = text.split("\n")[:-1]
        if len(fields) < 3 or not all(fields) or not re.fullmatch("0|[1-9][0-9]{0,19}", fields[1], re.ASCII):
            raise Verdict("bad signature", "the note is signed and no checkpoint")
        self.origin, self.size, self.root = fields[0], int(fields[1]), base64_bytes(fields[2])
        if self.root is None or len(self.root) != 32:
            raise Verdict("bad signature", "the note is signed and has no root")
        if origin is not None and self.origin != origin:
            raise Verdict("bad signature", f"the checkpoint is of the log {self.origin}, not of {origin}")

    @staticmethod
    def verify(text, lines, keys):
        valid = keys is None
        for line in lines:
            match = re.fullmatch("— ([^\\s+]+) ([A-Za-z0-9+/]+=*)", line)
            data = match and base64_bytes(match[2])
            if not data or len(data) < 5:
                raise Verdict("bad signature", "a signature line of the checkpoint is malformed")
            for key in keys or []:
                if (match[1], data[:4]) == (key.name, key.key_id):
                    if not signed(key.public, text, data[4:]):
                        raise Verdict("bad signature", f"the signature of {key.name} is not valid")
                    valid = True
        if not valid:
            raise Verdict("bad signature", "no signature of the checkpoint is of a given key")


# ---- The tree: RFC 6962, section 2.1 ----


def node(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


class Leaves:
    """The complete subtrees over consecutive leaves, each (height, first leaf, hash)."""

    def __init__(self, subtrees=()):
        self.subtrees = []
        for subtree in subtrees:
            self.push(*subtree)

    def push(self, height, start, value):
        subtrees = self.subtrees
        while subtrees and subtrees[-1][0] == height and subtrees[-1][1] % (2 << height) == 0:
            _, start, left = subtrees.pop()
            value = node(left, value)
            height += 1
        subtrees.append((height, start, value))

    def root(self, end):
        """The root, if these are all leaves up to `end`."""
        expected = 0
        for height, start, _ in self.subtrees:
            expected = expected + (1 << height) if start == expected else -1
        if expected != end:
            return None
        if not self.subtrees:
            return hashlib.sha256(b"").digest()
        value = self.subtrees[-1][2]
        for _, _, left in reversed(self.subtrees[:-1]):
            value = node(left, value)
        return value


def shapes(start, end):
    """Height and first leaf of the complete subtrees that cover a range."""
    while start < end:
        height = (end - start).bit_length() - 1
        if start:
            height = min(height, (start & -start).bit_length() - 1)
        yield height, start
        start += 1 << height


class Tiles:
    """The hashes of leaves in a copy of the log's tiles of level 0."""

    def __init__(self, folder):
        self.folder, self.number, self.hashes = Path(folder), None, b""
        self.leaves, self.first_difference = Leaves(), None

    def compare(self, seq, value):
        if seq // TILE != self.number:
            self.number, self.hashes = seq // TILE, self.read(seq // TILE)
        place = seq % TILE * 32
        found = self.hashes[place : place + 32]
        if found != value and self.first_difference is None:
            self.first_difference = seq
        self.leaves.push(0, seq, found)

    def read(self, number):
        groups = re.findall("...", f"{number:0{-(-len(str(number)) // 3) * 3}d}")
        path = self.folder / "tile" / "0" / "/".join(["x" + group for group in groups[:-1]] + groups[-1:])
        if path.is_file():
            return path.read_bytes()
        partial = [p for p in path.with_name(path.name + ".p").glob("*") if p.name.isdigit()]
        if not partial:
            raise OSError(f"there is no tile {path}")
        return max(partial, key=lambda p: int(p.name)).read_bytes()


# ---- Exports ----


def check_entry(reader, line, seq):
    """Verifies what a line says of itself. Returns the bytes of its leaf."""

    def refuse(reason):
        raise Verdict(f"altered at {seq}", reason)

    for name in line.keys() - {"seq", "entry", "leaf", "salt", "details"}:
        refuse(f"nothing vouches for the member {json.dumps(name)}")
    if type(line.get("seq")) is not int or line["seq"] != seq:
        refuse(f"the line is numbered {json.dumps(line.get('seq'))}: an entry is missing or was moved")
    entry, leaf = line.get("entry"), line.get("leaf")
    if not isinstance(entry, dict) or not isinstance(leaf, str):
        refuse("the line has no entry or leaf")
    leaf = leaf.encode()
    if len(leaf) > MAX_LEAF:
        refuse(f"the leaf is longer than {MAX_LEAF} bytes")
    if reader.write(entry) != leaf:
        refuse("the leaf is not the canonical form of the entry")
    salt, details, commitment = line.get("salt"), line.get("details"), entry.get("details")
    if (salt is None) != (details is None):
        refuse("salt and details are erased together or not at all")
    if salt is not None:
        if commitment is None:
            refuse("the entry has no commitment to details")
        salt = base64_bytes(salt, url=True) or refuse("the salt is not base64url")
        if base64_bytes(commitment, url=True) != hashlib.sha256(salt + reader.write(details)).digest():
            refuse("salt and details are not those of the entry's commitment")
    return leaf


def objects(stream, reader):
    """The lines of an export: each an object, or the error for which it is none."""
    while raw := stream.readline(MAX_LINE + 1):
        try:
            if len(raw) > MAX_LINE:
                raise ValueError(f"it is longer than {MAX_LINE} bytes")
            line = reader.read(raw.decode())
            if not isinstance(line, dict):
                raise ValueError("it is no object")
        except (ValueError, RecursionError) as error:
            line = error
        yield line


def hashes_of(last, name, ranges):
    """The hashes of the subtrees beside a part of a log, by which its root is computed."""
    texts, ranges = last.get(name, []), list(ranges)
    values = list(map(base64_bytes, texts)) if isinstance(texts, list) else []
    if len(values) != len(ranges) or any(value is None or len(value) != 32 for value in values):
        return None
    return [(height, start, value) for (height, start), value in zip(ranges, values)]


class Export:
    """What was read of an export, up to its checkpoint."""

    def __init__(self, stream, first, wanted_sizes, tiles):
        self.leaves, self.roots, self.last, self.first, self.end = Leaves(), {}, None, first, first
        reader = Json()
        for line in objects(stream, reader):
            if self.last is not None:
                raise Verdict(f"altered at {self.end}", "lines follow the checkpoint")
            if isinstance(line, dict) and "checkpoint" in line:
                self.last = line
                continue
            if not isinstance(line, dict):
                raise Verdict(f"altered at {self.end}", f"the line is not unambiguous JSON: {line}")
            value = hashlib.sha256(b"\x00" + check_entry(reader, line, self.end)).digest()
            self.leaves.push(0, self.end, value)
            if tiles:
                tiles.compare(self.end, value)
            self.end += 1
            if self.end in wanted_sizes and first == 0:
                self.roots[self.end] = self.leaves.root(self.end)


def verify(stream, options, keys, origin, tiles):
    texts = [(path, Path(path).read_bytes().decode(errors="replace")) for path in options.against]
    notes = [(path, Checkpoint(text, keys, origin)) for path, text in texts]
    export = Export(stream, options.first, {note.size for _, note in notes}, tiles)
    if export.last is None:
        raise Verdict("tail missing", f"the export ends after entry {export.end - 1} without a checkpoint")
    note = export.last["checkpoint"]
    if not isinstance(note, str) or export.last.keys() - {"checkpoint", "before", "after"}:
        raise Verdict("bad signature", "the last line is no checkpoint")
    checkpoint = Checkpoint(note, keys, origin)
    compare(export, checkpoint, options.part, tiles)
    for path, earlier in notes:
        if earlier.origin != checkpoint.origin:
            raise Verdict("fork", f"{path} is of the log {earlier.origin}")
        if earlier.size > checkpoint.size:
            raise Verdict("tail missing", f"{path} signs {earlier.size} entries, the export has {checkpoint.size}")
        if earlier.size and earlier.size not in export.roots:
            raise Verdict("root mismatch", f"{path} signs {earlier.size} entries: export the log from entry 0 to compare")
        if earlier.size and export.roots[earlier.size] != earlier.root:
            raise Verdict("fork", f"{path} signs other entries before number {earlier.size}")
    return export, checkpoint


def compare(export, checkpoint, part, tiles):
    if export.end > checkpoint.size:
        raise Verdict(f"altered at {max(checkpoint.size, export.first)}", f"the checkpoint signs {checkpoint.size} entries")
    before = hashes_of(export.last, "before", shapes(0, export.first))
    after = hashes_of(export.last if part else {}, "after", shapes(export.end, checkpoint.size))
    if after is None and export.end < checkpoint.size:
        raise Verdict("tail missing", f"the checkpoint signs {checkpoint.size} entries, the export ends before {export.end}")
    if before is None or after is None:
        raise Verdict("root mismatch", "the hashes beside the exported entries do not fit their numbers")

    def signs(leaves):
        return Leaves(before + leaves.subtrees + after).root(checkpoint.size) == checkpoint.root

    if signs(export.leaves):
        return
    if tiles and tiles.first_difference is not None and signs(tiles.leaves):
        raise Verdict(f"altered at {tiles.first_difference}", "its leaf is not the one that was signed, as the tiles show")
    raise Verdict("root mismatch", "entries were altered together with their leaves, or the checkpoint is of another log")


def arguments(argv):
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("verify_audit.py", description=__doc__, epilog=EXAMPLES, formatter_class=raw)
    parser.add_argument("export", metavar="EXPORT", help="the exported file, or - for standard input")
    parser.add_argument("--vkey", action="append", metavar="VKEY", help="a key of the log; can be repeated after a rotation")
    parser.add_argument("--unsigned", action="store_true", help="check no signature, only that the file agrees with itself")
    parser.add_argument("--origin", help="the log that it must be; by default the name of the first key")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first entry, for a part of a log")
    parser.add_argument("--part", action="store_true", help="accept that entries follow which are not in the export")
    parser.add_argument("--against", action="append", default=[], metavar="NOTE", help="an earlier checkpoint that was kept")
    parser.add_argument("--tiles", metavar="DIR", help="a copy of the log's tiles, with tile/0/000 and so on below it")
    options = parser.parse_args(argv)
    if bool(options.vkey) == options.unsigned:
        parser.error("give the key of the log with --vkey, or --unsigned")
    try:
        return options, [Key(text) for text in options.vkey] if options.vkey else None
    except ValueError as error:
        parser.error(f"--vkey: {error}")


def main(argv=None):
    options, keys = arguments(argv)
    origin = options.origin or (keys[0].name if keys else None)
    tiles = Tiles(options.tiles) if options.tiles else None
    try:
        with sys.stdin.buffer if options.export == "-" else open(options.export, "rb") as stream:
            export, checkpoint = verify(stream, options, keys, origin, tiles)
    except Verdict as verdict:
        print(*verdict.args, sep=": ")
        return 1
    except OSError as error:
        print(f"verify_audit.py: {error}", file=sys.stderr)
        return 2
    part = "" if (export.first, export.end) == (0, checkpoint.size) else f" of {checkpoint.size}"
    unsigned = "" if keys else ", SIGNATURE NOT CHECKED"
    root = base64.b64encode(checkpoint.root).decode()
    print(f"ok: {export.end - export.first}{part} entries of {checkpoint.origin}, root {root}{unsigned}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
