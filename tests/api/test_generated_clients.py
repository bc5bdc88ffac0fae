"""Clients that others generate from the live description: five operations of each dialect, or all that it has, are called
with them, and their typed results are what the server did."""

import importlib
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NODE = HERE / "node"


def environment():
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    # The generator formats its output by a tool of the same environment.
    return kept | {"PATH": f"{Path(sys.executable).parent}:{kept['PATH']}"}


@pytest.fixture
def document(muster, tmp_path):
    file = tmp_path / "openapi.json"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{muster.origin}/openapi.json", timeout=30) as answer:
        file.write_bytes(answer.read())
    return file


class Client:
    """The generated package, and its clients of a server."""

    def __init__(self, folder, muster):
        sys.path.insert(0, str(folder))
        self.package, self.origin = importlib.import_module("muster_client"), muster.origin
        self.models = importlib.import_module("muster_client.models")
        self.key = self.with_token(muster.key)

    def with_token(self, token):
        known = {"raise_on_unexpected_status": True, "httpx_args": {"trust_env": False}}
        return self.package.AuthenticatedClient(self.origin, token, **known)

    def call(self, client, operation, *arguments, **named):
        """The status and the typed result."""
        module = importlib.import_module(f"muster_client.api.{operation}")
        answer = module.sync_detailed(*arguments, client=client, **named)
        return int(answer.status_code), answer.parsed


@pytest.fixture
def generated(document, tmp_path, muster):
    folder = tmp_path / "generated"
    command = [str(Path(sys.executable).parent / "openapi-python-client"), "generate", "--fail-on-warning"]
    command += ["--path", str(document), "--output-path", str(folder)]
    command += ["--config", str(HERE / "openapi-python-client.yaml")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    yield Client(folder, muster)
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "muster_client"]:
        del sys.modules[name]


def test_a_generated_python_client_calls_each_dialect(generated, muster):
    for call in (disaster, interface_a, openai, anthropic, agent):
        call(generated, muster)


def disaster(client, muster):
    models = client.models
    body = models.LoginBody(email="admin@muster.local", password=muster.password)
    status, login = client.call(client.key, "auth.login", body=body)
    assert status == 200 and isinstance(login, models.DataTokens)
    person = client.with_token(login.data.token)
    status, me = client.call(person, "auth.get_current_user")
    assert (status, me.data.email) == (200, "admin@muster.local")
    body = models.IncidentReport(title="Bridge flooded", kind=models.IncidentReportKind.FLOOD)
    status, reported = client.call(person, "incidents.report_incident", body=body)
    assert status == 201 and isinstance(reported, models.DataReportedIncident)
    assert (reported.data.title, reported.data.state, reported.data.version) == ("Bridge flooded", "reported", 1)
    body = models.TriageBody(severity="Severe", urgency="Immediate", certainty="Observed")
    status, triaged = client.call(person, "incidents.triage_incident", reported.data.id, body=body, if_match="*")
    assert (status, triaged.data.state, triaged.data.severity) == (200, "triaged", "Severe")
    status, listed = client.call(person, "incidents.list_incidents")
    assert (status, [incident.id for incident in listed.data.incidents]) == (200, [reported.data.id])
    status, missing = client.call(person, "incidents.get_incident", "inc_none")
    assert (status, missing.success, missing.error.code) == (404, False, "not_found")
    assert isinstance(missing, models.ErrorDisaster)


def interface_a(client, _muster):
    models = client.models
    status, reply = client.call(client.key, "interface_a.chat_a", body=models.ChatABody(message="Hello?", model="echo"))
    assert (status, reply.success) == (200, True) and reply.response and reply.tokens > 0
    status, listed = client.call(client.key, "interface_a.list_models_a")
    assert status == 200 and "echo" in [model.id for model in listed.models]
    status, refused = client.call(client.key, "interface_a.chat_a", body=models.ChatABody(message=""))
    assert (status, refused.error.field) == (400, "message") and isinstance(refused, models.ErrorA)


def openai(client, _muster):
    models = client.models
    status, listed = client.call(client.key, "interface_b.list_models_b")
    assert status == 200 and "echo" in [model.id for model in listed.data]
    status, model = client.call(client.key, "interface_b.get_model_b", "echo")
    assert (status, model.id, model.object_) == (200, "echo", "model")
    turn = models.ChatMessageB(role=models.ChatMessageBRole.USER, content="Hello?")
    body = models.ChatCompletionBody(model="echo", messages=[turn])
    status, completion = client.call(client.key, "interface_b.create_chat_completion", body=body)
    assert status == 200 and isinstance(completion, models.ChatCompletion) and completion.choices[0].message.content
    body = models.ResponsesBody(model="echo", input_="Hello?")
    status, response = client.call(client.key, "interface_b.create_response", body=body)
    assert (status, response.status) == (200, "completed") and response.output[0].content[0].text
    body = models.EmbeddingsBody(model="vectors", input_=["one", "three"])
    status, vectors = client.call(client.key, "interface_b.create_embeddings", body=body)
    assert (status, [vector.index for vector in vectors.data]) == (200, [0, 1])
    status, missing = client.call(client.key, "interface_b.get_model_b", "muster-none/x")
    assert (status, missing.error.code) == (404, "model_not_found") and isinstance(missing, models.ErrorB)


def anthropic(client, _muster):
    models = client.models
    turns = [models.MessagesTurn(role="user", content="Hello?")]
    body = models.MessagesBody(model="echo", max_tokens=16, messages=turns)
    status, message = client.call(client.key, "interface_b.create_message", body=body)
    assert (status, message.type_, message.role) == (200, "message", "assistant")
    assert isinstance(message.content[0], models.ContentBlockText) and message.content[0].text
    body = models.CountTokensBody(model="echo", messages=turns)
    status, count = client.call(client.key, "interface_b.count_message_tokens", body=body)
    assert status == 200 and count.input_tokens > 0
    body = models.MessagesBody(model="echo", max_tokens=0, messages=turns)
    status, refused = client.call(client.key, "interface_b.create_message", body=body)
    assert (status, refused.error.type_) == (400, "invalid_request_error")
    assert isinstance(refused, models.ErrorMessages)


def agent(client, _muster):
    models = client.models
    status, engines = client.call(client.key, "engines.list_engines")
    assert status == 200 and 108 in [engine.number for engine in engines.engines]
    body = models.RunQ108Body.from_dict({"document": {"a": 2}, "program": ".a + 1"})
    status, run = client.call(client.key, "engines.run_q108", body=body)
    assert (status, run.number) == (200, 108)
    assert 3 in run.output.to_dict().get("results", run.output.to_dict().values())
    status, agents = client.call(client.key, "agents.list_agents")
    assert status == 200 and "json-wrangler" in [agent.id for agent in agents.agents]
    params = models.AnyObject.from_dict({"document": [1, 2], "program": "length"})
    body = models.RunBody(task="count", params=params)
    status, begun = client.call(client.key, "agents.run_agent", "json-wrangler", body=body)
    assert (status, begun.agent) == (201, "json-wrangler") and begun.estimated_seconds >= 1
    status, task = client.call(client.key, "tasks.get_task", begun.task_id)
    assert (status, task.task_id) == (200, begun.task_id)
    status, stored = client.call(client.key, "memory.store_memory", body=models.StoreBody(key="depot", value="sandbags"))
    assert (status, stored.version) == (201, 1)
    status, refused = client.call(client.key, "engines.list_engines", family="none")
    assert status == 422 and isinstance(refused, models.ErrorAgent)


def test_generated_types_check_a_typescript_client_that_calls_each_dialect(document, muster):
    generate_types(document)
    built = NODE / "generated" / "built"
    run(["npx", "--no-install", "tsc", "--project", "tsconfig.json", "--outDir", str(built)])
    variables = {"ORIGIN": muster.origin, "KEY": muster.key, "PASSWORD": muster.password}
    done = run(["node", str(built / "calls.js")], variables)
    called = json.loads(done.stdout.splitlines()[-1])
    assert called == {"disaster": 5, "interface A": 2, "OpenAI": 5, "Anthropic": 2, "agent": 5}


def test_a_call_that_contradicts_the_generated_types_does_not_compile(document):
    generate_types(document)
    wrong = NODE / "generated" / "wrong.ts"
    wrong.write_text(
        'import createClient from "openapi-fetch";\nimport type { paths } from "./api.js";\n'
        'await createClient<paths>({}).POST("/api/v1/incidents", { body: { title: 1 } });\n'
    )
    flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"]
    command = ["npx", "--no-install", "tsc", *flags, str(wrong)]
    done = subprocess.run(command, cwd=NODE, env=environment(), capture_output=True, text=True, timeout=300)
    wrong.unlink()
    assert done.returncode != 0 and "TS2322" in done.stdout, done.stdout


def generate_types(document):
    (NODE / "generated").mkdir(exist_ok=True)
    # A field with a default may be left out, and an object without named fields has any.
    options = ["--default-non-nullable=false", "--empty-objects-unknown"]
    types = NODE / "generated" / "api.d.ts"
    run(["npx", "--no-install", "openapi-typescript", str(document), *options, "--output", str(types)])


def run(command, variables=None):
    done = subprocess.run(
        command, cwd=NODE, env=environment() | (variables or {}), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done
