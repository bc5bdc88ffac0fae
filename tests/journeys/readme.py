"""README.md as its tests read it: the blocks of each section, and how what they show is compared with what happens."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"

ULID = "[0-9A-HJKMNP-TV-Z]{26}"
# What differs from run to run, with what takes its place. An identifier and a key stand for the same one wherever they
# occur again; the others stand for anything of their form.
NAMED = re.compile(rf"\b[a-z]+_{ULID}\b|\bmst_[a-z0-9]{{12}}_[A-Za-z0-9_-]{{43}}")
FORMS = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    (r"\b\d{4}-\d\d-\d\d\b", r"\d{4}-\d\d-\d\d"),
    # The number of an incident.
    (r"\b\d{4}-\d{6}\b", r"\d{4}-\d{6}"),
    (r'(?<="epoch":")[0-9a-f]+', "[0-9a-f]+"),
    (r"\b\d+\.\d{4,}\b", r"\d+\.\d+(?:e-\d+)?"),
    (r"\bin \d+ s\b", r"in \d+ s"),
    # What a model says, and how long it took to say it.
    (r'(?<="content":)"(?:[^"\\]|\\.)*"', r'"(?:[^"\\]|\\.)*"'),
    (r'(?<="finish_reason":)"(?:stop|length)"', '"(?:stop|length)"'),
    (r'(?<="arguments":)"(?:[^"\\]|\\.)*"', r'"(?:[^"\\]|\\.)*"'),
]
MEASURED = (
    *("created", "latency_ms", "prompt", "completion", "total", "prompt_tokens", "completion_tokens", "total_tokens"),
    *("estimated_seconds", "estimated_requests", "vectors"),
)
NUMBERS = re.compile(rf'(?<=")(?P<field>{"|".join(MEASURED)})":\d+')
ELISION = "…"
# A whole number as versions of jq print it, with a fraction or without.
WHOLE = r"(?<=:)\d+\.0(?=[,}])"


@dataclass
class Command:
    """A command of a console block, with the output that the block shows."""

    text: str
    shown: str
    line: int


@dataclass
class Section:
    title: str
    # (language, text, line), in order.
    blocks: list = field(default_factory=list)
    prose: str = ""

    def of(self, language):
        return [text for kind, text, _ in self.blocks if kind == language]

    def commands(self):
        return [command for kind, text, line in self.blocks if kind == "console" for command in commands(text, line)]


def sections(text):
    """The sections of the second level, with their blocks."""
    found, block = [Section("")], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if block is None:
                block = (line.removeprefix("```").strip(), [], number + 1)
            else:
                kind, lines, begin = block
                found[-1].blocks.append((kind, "\n".join(lines) + "\n", begin))
                block = None
        elif block is not None:
            block[1].append(line)
        elif line.startswith("## "):
            found.append(Section(line.removeprefix("## ")))
        else:
            found[-1].prose += line + "\n"
    assert block is None, "a block is not closed"
    return found


def is_whole(command):
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def commands(text, line):
    """The commands of a console block: each begins with `$ `, and goes on until its quotes are closed."""
    found = []
    for number, one in enumerate(text.splitlines(), line):
        if found and not is_whole(found[-1].text):
            found[-1].text += "\n" + one
        elif one.startswith("$ "):
            found.append(Command(one.removeprefix("$ "), "", number))
        elif one.startswith("# "):
            continue
        elif found:
            found[-1].shown += one + "\n"
        else:
            assert not one.strip(), f"line {number} shows output without a command"
    return found


class Comparison:
    """Compares what README shows with what happened, and remembers which names stand for which."""

    def __init__(self, origin):
        self.origin, self.known = origin, {}

    def actual(self, command):
        """A command as it is to be run: with the names of this run."""
        command = NAMED.sub(lambda name: self.known.get(name.group(), name.group()), command)
        host = self.origin.removeprefix("http://")
        return command.replace("localhost:8080", host).replace("127.0.0.1:8080", host)

    def pattern(self, shown):
        """The expression for what is shown, with a group for each new name."""
        groups, pieces, at = {}, [], 0
        shown = shown.strip()
        forms = "|".join(f"(?P<f{number}>{form})" for number, (form, _) in enumerate(FORMS))
        scan = re.compile(
            rf"(?P<name>{NAMED.pattern})|(?P<measured>{NUMBERS.pattern})|{forms}|(?P<whole>{WHOLE})"
            rf"|(?P<cut>\s*{ELISION}\s*)|(?P<space>\s+)"
        )
        for found in scan.finditer(shown):
            pieces.append(re.escape(shown[at : found.start()]))
            at, kind = found.end(), found.lastgroup
            # The innermost group comes last; the outer ones are what is wanted.
            if found["name"]:
                pieces.append(self.named(found["name"], groups))
            elif found["measured"]:
                pieces.append(rf'{found["field"]}":\d+')
            elif found["whole"]:
                pieces.append(rf"{found['whole'].removesuffix('.0')}(?:\.0)?")
            elif found["cut"]:
                pieces.append(r"[\s\S]*?")
            elif found["space"]:
                pieces.append(r"\s*" if "\n" in found["space"] else r"\s+")
            else:
                pieces.append(FORMS[int(kind.removeprefix("f"))][1])
        pieces.append(re.escape(shown[at:]))
        return "".join(pieces).replace(re.escape("localhost:8080"), r"127\.0\.0\.1:\d+").replace(
            re.escape("127.0.0.1:8080"), r"127\.0\.0\.1:\d+"
        ), groups

    def named(self, name, groups):
        if name in self.known:
            return re.escape(self.known[name])
        if name in groups:
            return f"(?P={groups[name]})"
        groups[name] = f"n{len(groups)}"
        form = r"mst_[a-z0-9]{12}_[A-Za-z0-9_-]{43}" if name.startswith("mst_") else rf"{name.rsplit('_', 1)[0]}_{ULID}"
        return f"(?P<{groups[name]}>{form})"

    def is_shown(self, shown, happened):
        """Whether all that happened is what is shown."""
        pattern, groups = self.pattern(shown)
        found = re.fullmatch(pattern, happened.strip())
        if found:
            self.known |= {name: found[group] for name, group in groups.items()}
        return found is not None

    def contains(self, shown, happened):
        """Whether the lines that are shown happened, in this order, among others."""
        at = 0
        for line in filter(None, map(str.strip, shown.splitlines())):
            pattern, groups = self.pattern(line)
            found = re.compile(rf"^{pattern}\s*$", re.MULTILINE).search(happened, at)
            if not found:
                return line
            self.known |= {name: found[group] for name, group in groups.items()}
            at = found.end()
        return None
