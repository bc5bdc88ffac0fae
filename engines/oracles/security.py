"""Compares engines of the family security: `python engines/oracles/security.py`.

q134 with cryptography, on the certificates of /etc/ssl/certs and on chains that are made here. q140 with lief, on the ELF
programs and libraries of this system, and with intelhex on random images.
"""
import base64
import datetime
import glob
import hashlib
import io
import os

import intelhex
import lief
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jsonlines import main

UTC = datetime.timezone.utc
ROOTS = sorted({os.path.realpath(path) for path in glob.glob("/etc/ssl/certs/*.pem")})
PROGRAMS = [path for path in sorted({os.path.realpath(path) for path in glob.glob("/usr/bin/*") + glob.glob("/usr/lib/*/lib*.so*")})
            if os.path.isfile(path) and 0 < os.path.getsize(path) < 1_000_000 and open(path, "rb").read(4) == b"\x7fELF"]
LABELS = ["a", "www", "*", "api", "x-1"]


def time(value):
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def chain(rng):
    """A leaf and its authority, whose key is sometimes another one; or a certificate of this system."""
    now = datetime.datetime(2026, 1, 1, tzinfo=UTC) + datetime.timedelta(seconds=int(rng.integers(0, 400 * 86_400)))
    if ROOTS and rng.random() < 0.4:
        return {"certificate": open(ROOTS[int(rng.integers(len(ROOTS)))]).read(), "now": time(now)}
    keys = [ec.derive_private_key(int(rng.integers(2, 1 << 62)), curve) for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP384R1())]
    signer = keys[2] if rng.random() < 0.3 else keys[1]
    def name(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])
    def build(subject, key, by, names, authority):
        begin = datetime.datetime(2026, 1, 1, tzinfo=UTC)
        made = (x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name("Oracle CA")).public_key(key.public_key())
                .serial_number(int(rng.integers(1 << 60, 1 << 62)) << 60).not_valid_before(begin)
                .not_valid_after(begin + datetime.timedelta(days=int(rng.integers(1, 500)), seconds=int(rng.integers(86_400)))))
        made = made.add_extension(x509.BasicConstraints(authority, None), True)
        if names:
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), False)
        return made.sign(by, hashes.SHA384()).public_bytes(serialization.Encoding.PEM).decode()
    def host():
        return ".".join([LABELS[int(rng.integers(len(LABELS)))] for _ in range(int(rng.integers(1, 3)))] + ["example", "org"])
    leaf = build("leaf", keys[0], signer, [host() for _ in range(3)], False)
    return {"certificate": leaf + build("Oracle CA", keys[1], keys[1], [], True),
            "hostname": host().replace("*", "a"), "now": time(now)}


def certificates(value, output):
    found = x509.load_pem_x509_certificates(value["certificate"].encode())
    def described(certificate):
        try:
            authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        except x509.ExtensionNotFound:
            authority = False
        key = certificate.public_key()
        kind = {"RSAPublicKey": lambda: f"RSA {key.key_size}", "ECPublicKey": lambda: f"EC P-{key.key_size}"}
        serial = certificate.serial_number
        return {
            "sha256": certificate.fingerprint(hashes.SHA256()).hex(), "is_ca": authority,
            "serial": ":".join(f"{byte:02x}" for byte in serial.to_bytes(serial.bit_length() // 8 + 1, "big")),
            "not_before": time(certificate.not_valid_before_utc), "not_after": time(certificate.not_valid_after_utc),
            "key": kind[type(key).__name__.lstrip("_")]() if type(key).__name__.lstrip("_") in kind else None,
        }
    expected = {"certificates": [described(certificate) for certificate in found]}
    now = datetime.datetime.strptime(value["now"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    expected["days_left"] = (found[0].not_valid_after_utc - now).days
    if "hostname" in value:
        names = found[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
        host = value["hostname"].split(".")
        def same(pattern):
            labels = pattern.split(".")
            return len(labels) == len(host) and labels[1:] == host[1:] and "*" not in labels[1:] and labels[0] in ("*", host[0])
        expected["hostname_match"] = any(same(n) for n in names)
        try:
            found[0].verify_directly_issued_by(found[1])
            forged = False
        except Exception:
            forged = True
        assert forged == any(problem["code"] == "signature-invalid" for problem in output["problems"]), output["problems"]
    return expected


def program(rng):
    return {"content": base64.b64encode(open(PROGRAMS[int(rng.integers(len(PROGRAMS)))], "rb").read()).decode()}


def inspected(value, output):
    raw = base64.b64decode(value["content"])
    if raw[:1] == b":":
        image = intelhex.IntelHex(io.StringIO(raw.decode()))
        return {"format": "intel-hex", "segments": [{"start": a, "length": b - a} for a, b in image.segments()]}
    binary = lief.ELF.parse(list(raw))
    null, empty = lief.ELF.Section.TYPE(0), lief.ELF.Section.TYPE.NOBITS
    tags = {entry.tag: entry for entry in binary.dynamic_entries}
    now = lief.ELF.DynamicEntry.TAG.BIND_NOW in tags
    for tag, flag in ((lief.ELF.DynamicEntry.TAG.FLAGS, 8), (lief.ELF.DynamicEntry.TAG.FLAGS_1, 1)):
        now |= tag in tags and tags[tag].value & flag != 0
    relro = any(segment.type == lief.ELF.Segment.TYPE.GNU_RELRO for segment in binary.segments)
    symbols = {symbol.name for symbol in binary.symbols}
    undefined = sorted({s.name for s in binary.dynamic_symbols if s.shndx == 0 and s.name}, key=lambda name: name.encode())
    return {
        "format": "elf", "sha256": hashlib.sha256(raw).hexdigest(), "imports": undefined if len(undefined) < 10_000 else None,
        "sections": [{"name": s.name, "size": s.size, "entropy": abs(s.entropy) if s.type != empty else None}
                     for s in binary.sections if s.type != null],
        "hardening": {"nx": binary.has_nx, "pie": binary.is_pie, "relro": "full" if relro and now else "partial" if relro else "none",
                      "canary": bool(symbols & {"__stack_chk_fail", "__stack_chk_guard"}),
                      "fortify": any(name.startswith("__") and name.endswith("_chk") for name in symbols)},
        "segments": [{"start": s.virtual_address, "length": s.virtual_size} for s in binary.segments
                     if s.type == lief.ELF.Segment.TYPE.LOAD],
    }


def image(rng):
    if rng.random() < 0.7:
        return program(rng)
    made = intelhex.IntelHex()
    for _ in range(int(rng.integers(1, 6))):
        start = int(rng.integers(0, 1 << 20))
        made.frombytes([int(byte) for byte in rng.integers(0, 256, int(rng.integers(1, 300)))], start)
    text = io.StringIO()
    made.write_hex_file(text)
    return {"content": base64.b64encode(text.getvalue().encode()).decode()}


main("security", {
    134: {"package": "cryptography 50.0.2", "tolerance": 0, "sample": chain, "expect": certificates},
    140: {"package": "lief 1.0.0, intelhex 2.3.0", "tolerance": 1e-6, "sample": image, "expect": inspected},
})
