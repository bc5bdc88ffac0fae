"""README's tours, as README has them: every command is run, in order, and prints what README shows."""

import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
from journey import QUICK, WITHIN_S, Installation
from readme import README, Comparison, sections
from server import ROOT, binary

TEXT = README.read_text()
SECTIONS = {section.title: section for section in sections(TEXT)}
# With the tours, in the order of the file.
TOURS = [title for title, section in SECTIONS.items() if section.commands()]
# Commands that go on: their output is compared once the section is done.
GOES_ON = re.compile(r"monitor --plain|watch\.py")


class Tour:
    """The server of the tours, and a shell that keeps its variables from command to command."""

    def __init__(self, folder, models):
        folder.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        (programs / "muster").symlink_to(binary())
        password = re.search(r'"password": "([^"]+)"', "".join(SECTIONS["The disaster network"].of("console")))[1]
        llm = f'[llm]\nmodel = "small"\ncache = "{models}"\n'
        self.server = Installation(folder / "muster", llm, password=password)
        self.comparison = Comparison(self.server.origin)
        self.folder, self.running = self.server.folder, []
        # README's commands are typed in a checkout.
        (self.folder / "scripts").symlink_to(README.parent / "scripts")
        environment = self.server.environment(KEY=self.server.key)
        environment["PATH"] = os.pathsep.join([str(programs), str(Path(sys.executable).parent), environment["PATH"]])
        self.environment = environment
        self.state = folder / "state.sh"
        self.state.write_text("")
        # The model answers once it is loaded. The attempts before are not part of the usage of the tours' key.
        client = self.server.client(self.server.make_key(scopes=["chat"]), max_retries=30)
        client.chat.completions.create(model="muster-core", messages=[{"role": "user", "content": "Hi"}], max_tokens=1)

    def script(self, command):
        """The command between the variables of those before and for those after."""
        return f"set -a; . {self.state}\n{command}\nstatus=$?; export -p > {self.state}; exit $status"

    def run(self, command):
        """Runs a command of README; returns what it printed."""
        arguments = ["bash", "-c", self.script(self.comparison.actual(command))]
        done = subprocess.run(
            arguments,
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.stdout if done.returncode == 0 else f"exit code {done.returncode}: {done.stdout}{done.stderr}"

    def begin(self, command):
        """Starts a command that goes on."""
        script = f"set -a; . {self.state}\nexec env {self.comparison.actual(command)}"
        self.running.append(Running(["bash", "-c", script], self.environment, self.folder))
        return self.running[-1]

    def stop(self):
        for one in self.running:
            one.stop()
        self.server.stop()


class Running:
    """A command that goes on, with the lines that it has printed."""

    def __init__(self, arguments, environment, folder):
        self.process = subprocess.Popen(
            arguments,
            env=environment,
            cwd=folder,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.lines, self.more = [], threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.more:
                self.lines.append(line)
                self.more.notify_all()
        with self.more:
            self.lines.append("(the end)\n")
            self.more.notify_all()

    def wait_for(self, condition):
        """Waits until the output meets the condition, which returns what is missing."""
        with self.more:
            met = self.more.wait_for(lambda: condition("".join(self.lines)) is None, timeout=WITHIN_S)
            output = "".join(self.lines)
        assert met, f"missing: {condition(output)}\nin:\n{output}"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=WITHIN_S)


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    folder = Path(os.environ.get("MUSTER_MODELS_DIR", ROOT / "models-cache")).resolve()
    manifest = tomllib.loads((ROOT / "crates" / "models" / "models.toml").read_text())
    wanted = {model["file"] for model in manifest["model"] if model["id"] == "small"}
    missing = [name for name in wanted if not (folder / name).exists()]
    assert not missing, f"no {missing} in {folder}: python3 scripts/fetch_models.py small minilm"
    tour = Tour(tmp_path_factory.mktemp("readme") / "tour", folder)
    yield tour
    tour.stop()


def test_readme_has_tours():
    assert len(TOURS) >= 4 and len([command for title in TOURS for command in SECTIONS[title].commands()]) >= 20, TOURS


def test_what_the_server_prints_first(tmp_path):
    shown = next(text for text in SECTIONS["Getting started"].of("") if "listening on" in text)
    server = Installation(tmp_path / "muster", '[llm]\nmodel = "none"\n', first_key="random")
    try:
        comparison = Comparison(server.origin)
        # The password is as random as the key, and has no form of its own.
        masked = re.compile(r"(?<=with the password )\S+")
        printed = masked.sub("PASSWORD", server.printed_until("-d '"))
        assert comparison.is_shown(masked.sub("PASSWORD", shown), printed), f"printed:\n{printed}\nREADME:\n{shown}"
    finally:
        server.stop()


def test_the_first_call(tour):
    plain = SECTIONS["Getting started"].of("")
    printed = next(text for text in plain if "curl" in text)
    streamed = next(text for text in plain if text.startswith("data: "))
    call = printed[printed.index("curl") :]
    call = re.sub(r"mst_\w+-?[\w-]*", tour.server.key, call)
    happened = tour.run(call)
    # README leaves chunks out, and the words are the model's.
    shown = re.sub(r'(?<="content":)"[^"]*"', '"a word"', streamed)
    missing = tour.comparison.contains(shown, happened)
    assert missing is None, f"README shows {missing}\nit printed:\n{happened}"


@pytest.mark.parametrize("title", TOURS)
def test_a_tour(tour, title):
    section = SECTIONS[title]
    later = []
    for command in section.commands():
        if GOES_ON.search(command.text):
            later.append(command)
    watched = [tour.begin(command.text) for command in later]
    for script in section.of("python"):
        if "websockets" in script:
            (tour.folder / "watch.py").write_text(script)
    for command in section.commands():
        if command in later:
            continue
        # The client of the feed is started in another terminal, before what it is to show.
        if "/api/v1/incidents" in command.text and not watched and "watch.py" in section.prose:
            watched.append(tour.begin(re.search(r"`(python3 watch\.py [^`]+)`", section.prose)[1]))
            watched[-1].wait_for(lambda output: None if output.count('"ok"') == 2 else "two subscriptions")
        happened = tour.run(command.text)
        if not command.shown.strip():
            assert not happened.strip(), f"README.md, line {command.line}: {command.text}\nprinted:\n{happened}"
            continue
        deadline = time.monotonic() + WITHIN_S
        while not tour.comparison.is_shown(command.shown, happened):
            # What is found depends on work that goes on; reading again changes nothing.
            reads = " -d " not in command.text and " -X " not in command.text
            assert reads and time.monotonic() < deadline, (
                f"README.md, line {command.line}: {command.text}\nprinted:\n{happened}\nREADME:\n{command.shown}"
            )
            happened = tour.run(command.text)
    for shown, running in zip([command.shown for command in later] or section.of("json"), watched):
        running.wait_for(lambda output, shown=shown: tour.comparison.contains(shown, output))


def test_the_client_of_openai(tour):
    (script,) = [script for script in SECTIONS["The AI gateway"].of("python") if "openai" in script]
    script = tour.comparison.actual(f'import os\nKEY = os.environ["KEY"]\n{script}\nprint("done")')
    done = subprocess.run(
        [sys.executable, "-c", script], env=tour.environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.endswith("done\n"), done.stderr


@pytest.mark.parametrize("block", [text for section in SECTIONS.values() for text in section.of("toml")])
def test_settings_are_accepted(tour, tmp_path, block):
    (tmp_path / "config.toml").write_text(QUICK + block)
    done = tour.server.muster("doctor", "--config", tmp_path / "config.toml", "--data", tmp_path / "data", check=False)
    assert "ok   settings: " in done.stdout, done.stdout + done.stderr


def test_every_command_of_the_table_has_help(tour):
    table = "\n".join(line for line in TEXT.splitlines() if line.startswith("| `muster"))
    names = sorted(set(re.findall(r"`muster ([\w-]+)", table)))
    assert len(names) >= 12, names
    for name in names:
        assert "Usage: muster" in tour.server.muster(name, "--help").stdout
