"""Runs the oracles of all families and writes engines/ORACLES.md: `python engines/oracles/report.py [family …]`.

A family that is not named keeps its part of the report. Exits with 1 if a difference is beyond its tolerance.
"""
import datetime
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE.parent / "ORACLES.md"
FAMILIES = ["geo", "hazard", "network", "logistics", "stats", "data", "finance", "text", "llm", "security", "platform", "code", "crypto", "docs", "medical"]
# A script of the family's name would hide a module of the standard library.
SCRIPTS = {"code": "source_code", "platform": "policy"}
LINE = re.compile(r"(ok|FAIL) +q(\d+): (\d+) compared, (\d+) refused, worst (\S+) of (\S+) with (.*?)(?: at (.*))?$")
HEAD = """# Oracles

Engines beside packages that other people wrote: inputs are sampled by a fixed seed, the engine and the package compute, and the
worst difference is the smaller of absolute and relative. Refused are samples for which the engine gives no answer, such as those
outside of its range. Made by `make test-oracles`; how an oracle is written is in `oracles/README.md`. What the comparison leaves
out, and why, stands beside each oracle in its script.

"""


def engines(family):
    catalogue = tomllib.loads((HERE.parent / f"catalogue/{family}.toml").read_text())
    return {engine["number"]: engine["id"] for engine in catalogue["engine"]}


def with_version(package):
    """Names of packages with the versions that are installed."""
    def version(name):
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            return name
    return ", ".join(version(name) if " " not in name else name for name in re.split(r",\s*", package))


def part(family):
    """The family's table, and whether all is within tolerance."""
    done = subprocess.run([sys.executable, HERE / f"{SCRIPTS.get(family, family)}.py"], capture_output=True, text=True)
    found = [LINE.match(line) for line in done.stdout.splitlines()]
    rows = [match.groups() for match in found if match]
    if not rows:
        sys.exit(f"{family}: {done.stdout}{done.stderr}")
    names, lines = engines(family), [f"## {family}", "", "| engine | with | compared | refused | worst | tolerance |", "|---|---|---|---|---|---|"]
    for state, number, compared, refused, worst, tolerance, package, _ in rows:
        mark = "" if state == "ok" else " **beyond**"
        lines.append(f"| q{number} {names[int(number)]} | {with_version(package)} | {compared} | {refused} | {worst}{mark} | {tolerance} |")
    for line in done.stdout.splitlines():
        print(line, flush=True)
    lacking = sorted(set(names) - {int(row[1]) for row in rows})
    if lacking:
        lines += ["", f"Without an oracle here: {', '.join(f'q{number}' for number in lacking)}."]
    return "\n".join(lines) + "\n", len(rows), done.returncode == 0


def main():
    chosen = sys.argv[1:] or FAMILIES
    kept = {}
    if REPORT.exists():
        for text in REPORT.read_text().split("\n## ")[1:]:
            kept[text.split("\n", 1)[0]] = "## " + text.rstrip() + "\n"
    good = True
    for family in chosen:
        kept[family], _, passed = part(family)
        good &= passed
    count = sum(len(re.findall(r"^\| q\d+", text, re.M)) for text in kept.values())
    total = f"{count} engines, last run on {datetime.date.today().isoformat()}.\n\n"
    REPORT.write_text(HEAD + total + "\n".join(kept[family] for family in FAMILIES if family in kept))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
