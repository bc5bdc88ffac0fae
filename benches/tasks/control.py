"""Controls of tasks that are in the middle of their models' answers, with monitors that watch all of them: how soon a
kill, a pause and a redirect take effect, and whether every monitor receives one end of every control."""

import json
import pathlib
import subprocess
import tempfile

from server import KEY, SETTINGS, free_port, killed_on_failure, start

HERE = pathlib.Path(__file__).resolve().parent
PROVIDER = """[[provider]]
id = "openai"
kind = "openai"
base_url = "http://127.0.0.1:{port}/v1"
models = ["gpt-5.6-luna"]
api_key_env = ""
"""


def measure(muster, loader, tasks, monitors, rate, kills):
    """One line of figures; the models produce `rate` words a second each, 0: as many as the server reads."""
    with tempfile.TemporaryDirectory() as name:
        folder, port, upstream = pathlib.Path(name), free_port(), free_port()
        settings = SETTINGS.format(agents=HERE / "agents.toml", slots=tasks) + PROVIDER.format(port=upstream)
        (folder / "config.toml").write_text(settings)
        server, _ = start(muster, folder, port)
        with killed_on_failure(server):
            command = [loader, "--url", f"http://127.0.0.1:{port}", "--key", KEY, "--upstream", f"127.0.0.1:{upstream}",
                       "--tasks", tasks, "--monitors", monitors, "--rate", rate, "--kills", kills]
            output = subprocess.run([str(part) for part in command], capture_output=True, text=True)
            if output.returncode != 0:
                log = (folder / "muster.log").read_text(errors="replace")[-2000:]
                raise SystemExit(f"{output.stderr}\n{log}")
        server.terminate()
        server.wait(60)
        return {"rate": rate, **json.loads(output.stdout)}


def print_line(line):
    def times(of):
        return "  ".join(f"{name} {line['kills'][of][f'{name}_ms']:6.1f}" for name in ("p50", "p99", "most"))

    rates, kill_latency, ends = line["rates"], line["server"], line["controls"]
    print(f"  {line['tasks']} tasks, {line['monitors']} monitors: {rates['words_s']:.0f} words/s from the models, "
          f"{rates['events_s']:.0f} events/s to the monitors")
    print(f"    kill to the step dropped, by the server: p50 within {kill_latency['p50_within_ms']} ms, p99 within "
          f"{kill_latency['p99_within_ms']} ms; {kill_latency['within_20_ms']} of {kill_latency['count']} within 20 ms")
    print(f"    kill to its answer             {times('answer')} ms")
    print(f"    kill to control.applied        {times('control_applied')} ms")
    print(f"    kill to the provider's closing {times('connection_closed')} ms")
    print(f"    pauses that kept their text {line['pauses']['text_kept']} of {line['pauses']['count']}; redirects in order "
          f"{line['redirects']['in_order']} of {line['redirects']['tasks']}")
    print(f"    {ends['accepted']} controls ({ends['outcomes']}) seen by each monitor: {ends['missing']} missing, "
          f"{ends['doubled']} twice, {ends['disagreeing']} otherwise; monitors closed: {line['closed'] or 'none'}")
    print(f"    {line['killed_together']} killed in one request: {line['killed_together_s']:.2f} s")


def aims(line):
    """Each aim with whether it was met."""
    kill_latency, ends = line["server"], line["controls"]
    in_time = kill_latency["p99_within_ms"] is not None and kill_latency["p99_within_ms"] <= 20
    seen = ends["missing"] == ends["doubled"] == ends["disagreeing"] == 0
    return [
        (f"p99 of kill to effect, {line['tasks']} tasks", in_time, f"within {kill_latency['p99_within_ms']} ms, aim 20 ms"),
        ("pauses keep their text", line["pauses"]["text_kept"] == line["pauses"]["count"], ""),
        ("redirects in order", line["redirects"]["in_order"] == line["redirects"]["tasks"], ""),
        ("every control has one end, for all", seen and not line["closed"], ""),
    ]
