"""The test cases of the Autobahn testsuite, from its published package, in Python 3.

The package is written for Python 2, which no current system has. Its cases are used as they are, with the few changes
that `translate` makes when a module is imported. Byte strings of Python 2 become texts of the characters 0 to 255, one
for each byte, so that every operation on them has the result that it has there.
"""

import array
import binascii
import codecs
import hashlib
import importlib.abc
import importlib.util
import re
import subprocess
import sys
import tarfile
import types

PACKAGE, VERSION = "autobahntestsuite", "25.10.1"
SHA256 = "b083d6e15330fc16f3e5f0975cce2b15f21bfa0c6db09547316b1852c6dbd6df"


def unpack(tools):
    """Fetches the package with pip, checks it, unpacks it; returns the folder of the cases."""
    folder = tools / f"{PACKAGE}-{VERSION}"
    cases = folder / PACKAGE / "case"
    if not cases.is_dir():
        tools.mkdir(parents=True, exist_ok=True)
        archive = tools / f"{PACKAGE}-{VERSION}.tar.gz"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary",
                ":all:",
                "--dest",
                str(tools),
                f"{PACKAGE}=={VERSION}",
            ],
            check=True,
        )
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != SHA256:
            raise SystemExit(f"{archive}: SHA-256 {found}, not {SHA256}")
        with tarfile.open(archive) as packed:
            packed.extractall(tools, filter="data")
    return cases


class Utf8Validator:
    """The validator of the autobahn package, by Python's decoder: valid so far, and at the end of a character."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def validate(self, text):
        try:
            self.decoder.decode(text.encode("latin-1"))
        except UnicodeDecodeError:
            return False, False, None, None
        return True, self.decoder.getstate()[0] == b"", len(text), len(text)


class Hex:
    """`binascii`, of which the cases use this for their descriptions."""

    @staticmethod
    def b2a_hex(text):
        return binascii.b2a_hex(text.encode("latin-1")).decode()


class Python2Array:
    """`array`, for the modules that import it."""

    array = array.array


def translate(name, source):
    # The two later categories test a compression that the server does not offer; see cases.py.
    source = re.sub(
        r"^(from case(12_x_x|13_x_x|9_9_1) import|Cases\.extend\(Case1[23]_X_X\)|CaseSubCategories\.update\(Case1[23]).*$",
        "",
        source,
        flags=re.M,
    )
    source = re.sub(r"^(\s*)print\b.*$", r"\1pass", source, flags=re.M)
    source = source.replace("(object, Case, )", "(Case, )")
    source = re.sub(r"^import (binascii|array)$", "", source, flags=re.M)
    if name == "case10_1_1":
        source = source.replace("len(self.payload) / self", "len(self.payload) // self")
    return source


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the cases, which import one another without a package."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if (self.folder / f"{name}.py").is_file() and (name == "case" or name.startswith("case")):
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module):
        run(self.folder / f"{module.__name__}.py", module.__name__, vars(module))


def run(path, name, names):
    source = translate(name, path.read_text("latin-1"))
    names.update(xrange=range, unichr=chr, binascii=Hex, array=Python2Array)
    # The text is decoded already: what the file says of its encoding must not be applied again.
    source = re.sub(r"^#.*coding[=:].*$", "#", source, flags=re.M)
    exec(compile(source, str(path), "exec"), names)


def load(folder, protocol):
    """Returns the cases in the suite's order, by number such as `6.4.1`. `protocol` has the states of a connection."""
    autobahn, websocket = types.ModuleType("autobahn"), types.ModuleType("autobahn.websocket")
    constants, validator = (types.ModuleType(f"autobahn.websocket.{name}") for name in ("protocol", "utf8validator"))
    constants.WebSocketProtocol, validator.Utf8Validator = protocol, Utf8Validator
    for module in (autobahn, websocket, constants, validator):
        sys.modules[module.__name__] = module
    sys.meta_path.insert(0, Loader(folder))
    names = {"__name__": "cases"}
    run(folder / "__init__.py", "__init__", names)
    # Pickles of equal values can differ in Python 3.
    names["Case"].compare = lambda self, one, other: one == other
    numbered = {case.__name__.removeprefix("Case").replace("_", "."): case for case in names["Cases"]}
    return dict(sorted(numbered.items(), key=lambda entry: [int(part) for part in entry[0].split(".")]))
