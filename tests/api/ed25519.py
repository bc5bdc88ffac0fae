"""Signing with Ed25519, as RFC 8032, section 6, writes it out: devices and firmware makers sign by themselves."""

import base64
import hashlib
import json
import os
import time

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def recover_x(y):
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P)
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * ROOT % P
    return x if x % 2 == 0 else P - x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y)
# In extended homogeneous coordinates.
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def add(one, two):
    a = (one[1] - one[0]) * (two[1] - two[0]) % P
    b = (one[1] + one[0]) * (two[1] + two[0]) % P
    c, d = 2 * one[3] * two[3] * D % P, 2 * one[2] * two[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(scalar, point):
    sum_ = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            sum_ = add(sum_, point)
        point = add(point, point)
        scalar >>= 1
    return sum_


def packed(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | ((x & 1) << 255)).to_bytes(32, "little")


def number(digest):
    return int.from_bytes(digest, "little")


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encoded(value):
    return b64(json.dumps(value, separators=(",", ":")).encode())


class Key:
    def __init__(self, seed=None):
        digest = hashlib.sha512(seed or os.urandom(32)).digest()
        self.scalar = (number(digest[:32]) & ((1 << 254) - 8)) | (1 << 254)
        self.prefix = digest[32:]
        self.public = packed(times(self.scalar, BASE))
        self.jwk = {"kty": "OKP", "crv": "Ed25519", "x": b64(self.public)}
        # RFC 7638: the members that it needs, by name.
        self.thumbprint = b64(hashlib.sha256(json.dumps(dict(sorted(self.jwk.items())), separators=(",", ":")).encode()).digest())

    def sign(self, message):
        nonce = number(hashlib.sha512(self.prefix + message).digest()) % L
        commitment = packed(times(nonce, BASE))
        challenge = number(hashlib.sha512(commitment + self.public + message).digest()) % L
        return commitment + ((nonce + challenge * self.scalar) % L).to_bytes(32, "little")

    def jws(self, header, payload):
        signed = f"{encoded(header)}.{encoded(payload)}"
        return f"{signed}.{b64(self.sign(signed.encode()))}"

    def device_token(self, device):
        now = int(time.time())
        header = {"typ": "dev+jwt", "alg": "EdDSA", "kid": self.thumbprint}
        claims = {"sub": device, "aud": "muster-device", "iat": now, "exp": now + 300, "jti": b64(os.urandom(16))}
        return self.jws(header, claims)

    def proof(self, method, address):
        """A proof of possession (RFC 9449)."""
        header = {"typ": "dpop+jwt", "alg": "EdDSA", "jwk": self.jwk}
        return self.jws(header, {"jti": b64(os.urandom(16)), "htm": method, "htu": address, "iat": int(time.time())})
