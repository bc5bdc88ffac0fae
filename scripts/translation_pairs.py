"""Translation models of Mozilla Firefox for pairs that the manifest does not pin: `translate:en-fr`.

Firefox publishes them by Remote Settings: records with the languages, the kind of each file, its size and sha256. The
files go into a folder of their own, where the server finds them by their names at its next start. Python 3.9 or later,
standard library only.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

# The collection of uncompressed files; another server, such as a mirror, by MUSTER_TRANSLATIONS_URL.
SERVER = "https://firefox.settings.services.mozilla.com/v1"
RECORDS = "buckets/main/collections/translations-models/records"
PREFIX = "translate:"
KINDS = ("model", "vocab", "srcvocab", "trgvocab")
# A model has some 20 to 40 MB, a vocabulary 1 MB.
MAX_FILE = 200 << 20
MAX_ANSWER = 64 << 20
TIMEOUT_S = 60


class PairError(Exception):
    """What went wrong, and how to mend it."""


def codes_of(wanted):
    """The codes of `translate:en-fr`."""
    found = re.fullmatch(r"translate:([a-z]{2,3})-([a-z]{2,3})", wanted)
    if not found or "en" not in found.groups() or found[1] == found[2]:
        raise PairError(f"{wanted} names no pair: write both codes, one of them en, such as translate:en-fr")
    return found.groups()


def read(url, most):
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            data = answer.read(most + 1)
    except OSError as error:
        raise PairError(f"{urllib.parse.urlsplit(url).netloc} was not reached: {error}\n"
                        "  mend: check the network, or put the files of the pair into the folder of models") from None
    if len(data) > most:
        raise PairError(f"{url} has more than {most >> 20} MiB: nothing was installed")
    return data


def version_of(record):
    """The numbers of a version; none of a preview such as 1.0a1, which is not for use."""
    version = str(record.get("version", ""))
    return tuple(int(part) for part in version.split(".")) if re.fullmatch(r"\d+(\.\d+)*", version) else None


def chosen(records, source, target):
    """The newest file of each kind, all of the newest version that has a model and its vocabulary."""
    of_pair = [one for one in records if (one.get("fromLang"), one.get("toLang")) == (source, target)]
    of_pair = [one for one in of_pair if one.get("fileType") in KINDS and isinstance(one.get("attachment"), dict)]
    for version in sorted({version_of(one) for one in of_pair} - {None}, reverse=True):
        kinds = {one["fileType"]: one for one in of_pair if version_of(one) == version}
        if "model" in kinds and ("vocab" in kinds or {"srcvocab", "trgvocab"} <= set(kinds)):
            return list(kinds.values())
    raise PairError(f"no model from {source} to {target} is published: GET /api/languages says how else they are translated")


def name_of(record, source, target):
    """The file's name, which must be one that the server looks for in the folder."""
    name = record.get("name", "")
    kind = {"model": r"model\.{}\.intgemm[a-z0-9.]*\.bin"}.get(record["fileType"], record["fileType"] + r"\.{}\.spm")
    if not re.fullmatch(kind.format(source + target), name):
        raise PairError(f"{name!r} is not the name of a {record['fileType']} from {source} to {target}: nothing was installed")
    return name


def fetch_pair(wanted, folder):
    """Fetches the files of a pair; existing ones with the right sha256 are kept."""
    source, target = codes_of(wanted)
    server = os.environ.get("MUSTER_TRANSLATIONS_URL", SERVER).rstrip("/")
    try:
        base = json.loads(read(f"{server}/", MAX_ANSWER))["capabilities"]["attachments"]["base_url"]
        records = json.loads(read(f"{server}/{RECORDS}", MAX_ANSWER))["data"]
    except (KeyError, TypeError, ValueError) as error:
        raise PairError(f"{server} answered something else than records of models ({error!r})") from None
    place = Path(folder) / f"translate-{source}-{target}"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        fetched = []
        for record in chosen(records, source, target):
            name, attachment = name_of(record, source, target), record["attachment"]
            try:
                size, digest, location = int(attachment["size"]), attachment["hash"], str(attachment["location"])
            except (KeyError, TypeError, ValueError):
                raise PairError(f"the record of {name} has no size, hash or location: nothing was installed") from None
            if (place / name).exists() and hashlib.sha256((place / name).read_bytes()).hexdigest() == digest:
                print(f"{wanted}: {place / name} is there", flush=True)
                continue
            print(f"{wanted}: {name}", flush=True)
            data = read(urllib.parse.urljoin(base, location), MAX_FILE)
            if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
                raise PairError(f"{name}: not the published contents; nothing was installed, run this again")
            with open(Path(scratch) / name, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            fetched.append((name, size))
        # The model comes last: without it the server looks at no vocabulary.
        for name, size in sorted(fetched, key=lambda one: one[0].startswith("model.")):
            shutil.move(Path(scratch) / name, place / name)
            print(f"{wanted}: {place / name} ({size / 1e6:.1f} MB, sha256 checked)", flush=True)
    print(f"{wanted}: restart the server to use it", flush=True)
