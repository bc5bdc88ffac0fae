"""`translate:en-fr` of the fetch script, against records in the form of Mozilla's Remote Settings."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fetch_models.py"
FILES = {"/files/model-1.bin": b"old weights", "/files/model-2.bin": b"weights", "/files/vocab-2.spm": b"vocabulary"}


def record(kind, name, place, version, **changed):
    content = FILES[f"/files/{place}"]
    attachment = {"hash": hashlib.sha256(content).hexdigest(), "size": len(content), "location": place}
    return {"name": name, "fromLang": "en", "toLang": "fr", "version": version, "fileType": kind,
            "attachment": {**attachment, **changed}}


def published(**changed):
    return [
        record("model", "model.enfr.intgemm.alphas.bin", "model-1.bin", "1.0"),
        record("vocab", "vocab.enfr.spm", "vocab-2.spm", "1.0"),
        record("model", "model.enfr.intgemm.alphas.bin", "model-2.bin", "10.0", **changed),
        record("vocab", "vocab.enfr.spm", "vocab-2.spm", "10.0"),
        # Without a vocabulary, and a preview.
        record("model", "model.enfr.intgemm.alphas.bin", "model-1.bin", "11.0"),
        record("model", "model.enfr.intgemm.alphas.bin", "model-1.bin", "12.0a1"),
        record("vocab", "vocab.enfr.spm", "vocab-2.spm", "12.0a1"),
    ]


@pytest.fixture
def pull(tmp_path):
    """Runs the script for a pair, with these records; returns the process."""
    records = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            base = f"http://127.0.0.1:{self.server.server_address[1]}/files/"
            capabilities = {"capabilities": {"attachments": {"base_url": base}}}
            answers = {"/v1/": capabilities,
                       "/v1/buckets/main/collections/translations-models/records": {"data": records}}
            content = FILES.get(self.path) or json.dumps(answers.get(self.path)).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"

    def pull(pair, now):
        records[:] = now
        environment = {**os.environ, "MUSTER_TRANSLATIONS_URL": url, "no_proxy": "127.0.0.1"}
        command = [sys.executable, str(SCRIPT), pair, "--dir", str(tmp_path)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    yield pull
    server.shutdown()
    server.server_close()


def installed(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_newest_whole_version_is_installed_where_the_server_looks(pull, tmp_path):
    done = pull("translate:en-fr", published())
    assert done.returncode == 0, done.stderr
    assert installed(tmp_path) == {"model.enfr.intgemm.alphas.bin": b"weights", "vocab.enfr.spm": b"vocabulary"}
    assert [path.name for path in tmp_path.iterdir()] == ["translate-en-fr"]
    again = pull("translate:en-fr", published())
    assert again.returncode == 0 and again.stdout.count("is there") == 2, again.stdout


@pytest.mark.parametrize(
    ("pair", "records", "why"),
    [
        ("translate:en-fr", published(hash="0" * 64), "not the published contents"),
        ("translate:en-fr", published(size=3), "not the published contents"),
        ("translate:en-de", published(), "no model from en to de is published"),
        ("translate:fr-de", published(), "one of them en"),
        ("translate:en-fr", [record("model", "../model.enfr.intgemm.bin", "model-1.bin", "1.0"),
                             record("vocab", "vocab.enfr.spm", "vocab-2.spm", "1.0")], "is not the name"),
    ],
)
def test_what_is_not_as_published_is_not_installed(pull, tmp_path, pair, records, why):
    done = pull(pair, records)
    assert done.returncode == 1 and why in done.stderr, (done.returncode, done.stderr)
    assert "model.enfr.intgemm.alphas.bin" not in installed(tmp_path)
