"""The two descriptions are valid by the validators that others use, and each validator rejects a broken one."""

import copy
import json
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

NODE = Path(__file__).resolve().parent / "node"
ERROR, WARNING = 0, 1


def fetch(muster, path):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{muster.origin}{path}", timeout=30) as answer:
        return json.load(answer)


@pytest.fixture
def openapi(muster):
    return fetch(muster, "/openapi.json")


@pytest.fixture
def asyncapi(muster):
    return fetch(muster, "/asyncapi.json")


def schema_errors(document):
    return [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()]


# Findings that stay, by rule and end of the message, with the reason.
ACCEPTED = [
    # `{seq}` is a number, and `log` is none: the paths are those of the contract and of C2SP tlog-tiles.
    ("no-ambiguous-paths", ("/{seq}/erase`.", "/{seq}/proof`.")),
    # A geometry is described by its `type`; the rule takes members that are not described for errors.
    ("no-invalid-media-type-examples", ("unevaluated properties `coordinates`.",)),
]


def redocly(document, folder):
    """The problems that redocly finds with its recommended rules."""
    file = folder / "openapi.json"
    file.write_text(json.dumps(document))
    command = ["npx", "--no-install", "redocly", "lint", str(file), "--extends", "recommended", "--format", "json"]
    # The version check and telemetry need a network.
    quiet = {"REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "REDOCLY_TELEMETRY": "off"}
    done = subprocess.run(command, cwd=NODE, env=environment() | quiet, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)
    problems = [(problem["ruleId"], problem["message"], problem["location"]) for problem in found["problems"]]
    accepted = lambda rule, text: any(rule == name and text.endswith(ends) for name, ends in ACCEPTED)
    return [problem for problem in problems if not accepted(*problem[:2])]


def asyncapi_problems(document):
    """The errors and warnings of the official parser."""
    command = ["node", "asyncapi.js"]
    done = subprocess.run(
        command, cwd=NODE, env=environment(), input=json.dumps(document), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [found for found in json.loads(done.stdout) if found["severity"] in (ERROR, WARNING)]


def environment():
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}


def operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"{method} {path}", operation


def test_the_openapi_document_has_no_errors_and_no_warnings(openapi, tmp_path):
    assert schema_errors(openapi) == []
    assert redocly(openapi, tmp_path) == []


def test_a_broken_openapi_document_is_rejected(openapi, tmp_path):
    broken = copy.deepcopy(openapi)
    del broken["paths"]["/api/v1/incidents"]["get"]["responses"]["200"]["description"]
    del broken["servers"]
    assert len(schema_errors(broken)) == 1
    rules = {rule for rule, *_ in redocly(broken, tmp_path)}
    assert {"struct", "no-empty-servers"} <= rules


def test_each_operation_has_a_short_summary_and_a_description(openapi):
    for name, operation in operations(openapi):
        assert 1 <= len(operation["summary"]) <= 60, name
        assert operation["description"], name
        assert operation["operationId"], name
        for status, response in operation["responses"].items():
            shared = response.get("$ref", "").removeprefix("#/components/responses/")
            assert openapi["components"]["responses"].get(shared, response)["description"], f"{name} {status}"


def test_tags_licence_and_server_are_described(openapi):
    described = {tag["name"] for tag in openapi["tags"] if tag["description"]}
    assert described == {tag for _, operation in operations(openapi) for tag in operation["tags"]}
    assert openapi["info"]["license"]["identifier"]
    assert [server["url"] for server in openapi["servers"]] == ["/"]


def test_each_schema_is_used(openapi):
    text = json.dumps(openapi)
    unused = [name for name in openapi["components"]["schemas"] if f'"#/components/schemas/{name}"' not in text]
    assert unused == []


def test_the_asyncapi_document_has_no_errors_and_no_warnings(asyncapi):
    assert asyncapi_problems(asyncapi) == []


def test_a_broken_asyncapi_document_is_rejected(asyncapi):
    broken = copy.deepcopy(asyncapi)
    broken["channels"]["incidents"]["messages"]["incident.created"]["$ref"] = "#/components/messages/none"
    assert asyncapi_problems(broken)


def test_each_event_of_each_channel_has_a_schema_of_its_data(asyncapi):
    sockets = {"socket", "monitor"}
    for name, channel in asyncapi["channels"].items():
        assert channel["messages"], name
        for event in channel["messages"] if name not in sockets else ():
            payload = asyncapi["components"]["messages"][event]["payload"]
            assert payload["properties"]["ev"] == {"const": event}
            data = payload["properties"]["data"]
            assert data.get("properties") or data.get("oneOf"), f"{name} {event}"
