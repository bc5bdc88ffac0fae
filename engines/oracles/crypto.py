"""Oracles of the family crypto (q203 to q213): `python engines/oracles/crypto.py [q203 …]`."""
import base64
import gzip
import hashlib
import hmac
import html
import zlib
from urllib.parse import quote

from jsonlines import main

ORACLES = {}


def oracle(number, package, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=0.0, count=count, sample=cls.sample, expect=cls.expect)
        return cls
    return register


def b64(data):
    return base64.b64encode(data).decode()


def raw(text):
    return base64.b64decode(text)


def some(rng, low=0, high=300):
    return rng.bytes(int(rng.integers(low, high)))


@oracle(203, "hashlib, zlib, blake3")
class Digest:
    def sample(rng):
        return {"data": b64(some(rng)), "algorithms": ["sha256", "sha384", "sha512", "sha3-256", "sha3-512", "blake3", "crc32"]}

    def expect(i, out):
        from blake3 import blake3
        data = raw(i["data"])
        names = {"sha256": "sha256", "sha384": "sha384", "sha512": "sha512", "sha3-256": "sha3_256", "sha3-512": "sha3_512"}
        digests = {name: hashlib.new(python, data).hexdigest() for name, python in names.items()}
        return {"digests": digests | {"blake3": blake3(data).hexdigest(), "crc32": f"{zlib.crc32(data):08x}"}, "size": len(data)}


@oracle(204, "hmac")
class Hmac:
    def sample(rng):
        return {"data": b64(some(rng)), "key": b64(some(rng, 1, 200)), "algorithm": str(rng.choice(["sha1", "sha256", "sha512"]))}

    def expect(i, out):
        return {"signature": hmac.new(raw(i["key"]), raw(i["data"]), i["algorithm"]).hexdigest()}


@oracle(205, "cryptography")
class Aead:
    def sample(rng):
        return {"operation": "seal", "data": b64(some(rng)), "key": b64(rng.bytes(32)), "nonce": b64(rng.bytes(12)), "aad": b64(some(rng, 0, 40)),
                "algorithm": str(rng.choice(["aes-256-gcm", "chacha20-poly1305"]))}

    def expect(i, out):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
        cipher = {"aes-256-gcm": AESGCM, "chacha20-poly1305": ChaCha20Poly1305}[i["algorithm"]](raw(i["key"]))
        sealed = cipher.encrypt(raw(i["nonce"]), raw(i["data"]), raw(i["aad"]))
        return {"data": b64(sealed[:-16]), "tag": b64(sealed[-16:])}


@oracle(206, "PyNaCl")
class Signature:
    def sample(rng):
        return {"operation": "sign", "data": b64(some(rng)), "secret_key": b64(rng.bytes(32))}

    def expect(i, out):
        from nacl.signing import SigningKey
        key = SigningKey(raw(i["secret_key"]))
        public = bytes(key.verify_key)
        return {"signature": b64(key.sign(raw(i["data"])).signature), "public_key": b64(public),
                "fingerprint": "SHA256:" + hashlib.sha256(public).hexdigest()}


@oracle(207, "hashlib, argon2-cffi, cryptography", 60)
class Derive:
    def sample(rng):
        value = {"algorithm": str(rng.choice(["hkdf-sha256", "pbkdf2-sha256", "scrypt", "argon2id"])), "secret": b64(some(rng, 1, 60)),
                 "salt": b64(some(rng, 8, 32)), "length": int(rng.integers(16, 64)), "iterations": int(rng.integers(1, 4))}
        return value | {"memory_kib": int(rng.choice([64, 256, 1024])), "parallelism": 1}

    def expect(i, out):
        secret, salt, length = raw(i["secret"]), raw(i["salt"]), i["length"]
        if i["algorithm"] == "pbkdf2-sha256":
            key = hashlib.pbkdf2_hmac("sha256", secret, salt, i["iterations"], length)
        elif i["algorithm"] == "scrypt":
            key = hashlib.scrypt(secret, salt=salt, n=i["memory_kib"], r=8, p=1, dklen=length)
        elif i["algorithm"] == "argon2id":
            from argon2.low_level import Type, hash_secret_raw
            key = hash_secret_raw(secret, salt, i["iterations"], i["memory_kib"], 1, length, Type.ID)
        else:
            from cryptography.hazmat.primitives.hashes import SHA256
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF
            key = HKDF(SHA256(), length, salt, b"").derive(secret)
        return {"key": b64(key)}


@oracle(208, "pyotp")
class OneTimeCode:
    def sample(rng):
        return {"operation": "generate", "secret": base64.b32encode(rng.bytes(20)).decode(), "time": int(rng.integers(0, 4_000_000_000)),
                "digits": int(rng.integers(6, 9)), "period": int(rng.choice([30, 60])), "algorithm": str(rng.choice(["SHA1", "SHA256", "SHA512"]))}

    def expect(i, out):
        import pyotp
        totp = pyotp.TOTP(i["secret"], digits=i["digits"], interval=i["period"], digest=getattr(hashlib, i["algorithm"].lower()))
        return {"code": totp.at(i["time"]), "remaining": i["period"] - i["time"] % i["period"]}


def times(a, b):
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


@oracle(209, "independent Python", 60)
class SecretShare:
    def sample(rng):
        threshold = int(rng.integers(2, 8))
        return {"operation": "split", "secret": b64(some(rng, 1, 40)), "threshold": threshold, "total": threshold + 2, "seed": b64(rng.bytes(32))}

    def expect(i, out):
        shares = [raw(share) for share in out["shares"]][-i["threshold"]:]
        secret = bytearray()
        for at in range(1, len(shares[0]) - 4):
            byte = 0
            for share in shares:
                above, below = 1, 1
                for other in shares:
                    if other[0] != share[0]:
                        above, below = times(above, other[0]), times(below, other[0] ^ share[0])
                inverse = next(x for x in range(1, 256) if times(x, below) == 1)
                byte ^= times(share[at], times(above, inverse))
            secret.append(byte)
        assert bytes(secret) == raw(i["secret"]) and all(zlib.crc32(s[:-4]) == int.from_bytes(s[-4:], "big") for s in shares)
        return {"digest": hashlib.sha256(secret).hexdigest()}


@oracle(210, "independent Python of RFC 9162")
class Merkle:
    def sample(rng):
        return {"operation": "root", "leaves": [b64(some(rng, 0, 30)) for _ in range(int(rng.integers(0, 40)))]}

    def expect(i, out):
        def tree(leaves):
            if len(leaves) <= 1:
                return hashlib.sha256(b"\0" + leaves[0] if leaves else b"").digest()
            k = 1 << ((len(leaves) - 1).bit_length() - 1)
            return hashlib.sha256(b"\1" + tree(leaves[:k]) + tree(leaves[k:])).digest()
        return {"root": tree([raw(leaf) for leaf in i["leaves"]]).hex(), "size": len(i["leaves"])}


@oracle(211, "base64, base58, urllib, html, codecs")
class Encode:
    def sample(rng):
        letters = [chr(int(rng.choice([int(rng.integers(32, 127)), int(rng.integers(0xC0, 0x24F)), 0x20AC]))) for _ in range(int(rng.integers(0, 60)))]
        to = ["hex", "base64", "base64url", "base32", "base58", "ascii85", "percent", "html", "punycode"]
        return {"data": "".join(letters), "from": "utf8", "to": str(rng.choice(to))}

    def expect(i, out):
        import base58
        data = i["data"].encode()
        made = {"hex": data.hex, "base64": lambda: b64(data), "base64url": lambda: base64.urlsafe_b64encode(data).decode().rstrip("="),
                "base32": lambda: base64.b32encode(data).decode(), "base58": lambda: base58.b58encode(data).decode(),
                "ascii85": lambda: base64.a85encode(data).decode(), "percent": lambda: quote(data, safe=""),
                "html": lambda: html.escape(i["data"]).replace("&#x27;", "&#39;"), "punycode": lambda: i["data"].encode("punycode").decode()}
        return {"data": made[i["to"]](), "bytes": len(data)}


@oracle(212, "zlib, gzip, brotli, lz4")
class Compress:
    def sample(rng):
        return {"operation": "compress", "data": b64(bytes(rng.integers(0, 4, int(rng.integers(0, 2000)), dtype="uint8"))),
                "format": str(rng.choice(["gzip", "zlib", "deflate", "brotli", "lz4"])), "level": int(rng.integers(0, 12))}

    def expect(i, out):
        import brotli
        import lz4.frame
        unpack = {"gzip": gzip.decompress, "zlib": zlib.decompress, "deflate": lambda data: zlib.decompress(data, -15),
                  "brotli": brotli.decompress, "lz4": lz4.frame.decompress}[i["format"]]
        assert unpack(raw(out["data"])) == raw(i["data"]), i
        return {"crc32": f"{zlib.crc32(raw(i['data'])):08x}", "input_size": len(raw(i["data"]))}


@oracle(213, "brotli, independent Python of bspatch", 40)
class Delta:
    def sample(rng):
        old = bytearray(rng.bytes(int(rng.integers(100, 3000))))
        new = bytearray(old)
        for _ in range(5):
            at = int(rng.integers(0, len(new)))
            new[at:at + int(rng.integers(0, 30))] = some(rng, 0, 40)
        return {"operation": "diff", "old": b64(bytes(old)), "new": b64(bytes(new))}

    def expect(i, out):
        import brotli
        old, new, patch = raw(i["old"]), raw(i["new"]), raw(out["patch"])
        assert patch[:4] == b"MDP1" and patch[4:36] == hashlib.sha256(old).digest()
        body = brotli.decompress(patch[68:])
        number = lambda at, signed=False: int.from_bytes(body[at:at + 8], "little", signed=signed)
        size, count = number(0), number(8)
        controls = [(number(16 + 24 * n), number(24 + 24 * n), number(32 + 24 * n, True)) for n in range(count)]
        differences = 16 + 24 * count
        extra, place, made = differences + sum(add for add, _, _ in controls), 0, bytearray()
        for add, copy, seek in controls:
            made += bytes((body[differences + k] + old[place + k]) % 256 for k in range(add)) + body[extra:extra + copy]
            differences, extra, place = differences + add, extra + copy, place + add + seek
        assert bytes(made) == new and len(made) == size
        return {"new_sha256": hashlib.sha256(new).hexdigest(), "verified": True, "patch_size": len(patch)}


if __name__ == "__main__":
    main("crypto", ORACLES)
