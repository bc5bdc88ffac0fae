"""Copies the vectors and the engines' schemas of the catalogue, one engine to a line.

usage: python3 engines/catalogue/refresh.py ../shared/catalogue
"""

import json
import pathlib
import sys


def main(catalogue: pathlib.Path) -> None:
    here = pathlib.Path(__file__).parent
    dump = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    vectors = json.loads((catalogue / "vectors.json").read_text())
    (here / "vectors.json").write_text("[\n" + ",\n".join(map(dump, vectors)) + "\n]\n")
    engines = json.loads((catalogue / "schemas.json").read_text())["engines"]
    rows = (f"{dump(name)}: {dump(schemas)}" for name, schemas in engines.items())
    (here / "schemas.json").write_text('{"engines": {\n' + ",\n".join(rows) + "\n}}\n")


main(pathlib.Path(sys.argv[1]))
