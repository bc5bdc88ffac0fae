"""Tools through the Messages and the Responses API: requested, called, answered, whole and streamed."""

import json

import anthropic
import pytest
from server import Muster
from tools_upstream import ARGUMENTS, CALLS, DONE, CONTENT, USAGE, ToolsUpstream

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = {"role": "user", "content": "How is the weather in Ulm and Bonn?"}
IDS = [call for call, _ in CALLS]
FIGURES = tuple(USAGE.values())


@pytest.fixture(scope="module")
def looker():
    upstream = ToolsUpstream()
    yield upstream
    upstream.stop()


@pytest.fixture(scope="module")
def muster(looker, tmp_path_factory):
    muster = Muster(tmp_path_factory.mktemp("muster"), looker.settings())
    yield muster
    muster.stop()


def answered(looker):
    """The last request to the upstream: the calls as sent, and their results."""
    *_, calls, results = looker.requests[-1]["messages"]
    calls = [(block["id"], block["input"]) for block in calls["content"] if block["type"] == "tool_use"]
    results = {block["tool_use_id"]: block["content"] for block in results["content"]}
    texts = {call: reply if isinstance(reply, str) else "".join(part["text"] for part in reply) for call, reply in results.items()}
    return calls, texts


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_by_the_messages_api(muster, looker, streamed):
    client = anthropic.Anthropic(api_key=muster.key, base_url=muster.origin, max_retries=0, timeout=60)
    tools = [{"name": "weather", "description": "The weather of a city.", "input_schema": SCHEMA}]

    def complete(messages):
        request = {"model": "looker", "max_tokens": 64, "messages": messages, "tools": tools}
        if not streamed:
            return client.messages.create(**request)
        with client.messages.stream(**request) as stream:
            return stream.get_final_message()

    reply = complete([QUESTION])
    tool = looker.requests[-1]["tools"][0]
    assert (tool["name"], tool["description"], tool["input_schema"]) == ("weather", "The weather of a city.", SCHEMA)
    text, *calls = reply.content
    assert text.text == CONTENT
    assert [(call.type, call.id, call.name, call.input) for call in calls] == [
        ("tool_use", call, "weather", arguments) for call, arguments in zip(IDS, ARGUMENTS, strict=True)
    ]
    assert reply.stop_reason == "tool_use"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == FIGURES

    results = [{"type": "tool_result", "tool_use_id": call, "content": "rain"} for call in IDS]
    sent = [block.model_dump(include={"type", "text", "id", "name", "input"}) for block in reply.content]
    turns = [QUESTION, {"role": "assistant", "content": sent}, {"role": "user", "content": results}]
    reply = complete(turns)
    assert [block.text for block in reply.content] == [DONE]
    assert reply.stop_reason == "end_turn"
    assert answered(looker) == (list(zip(IDS, ARGUMENTS, strict=True)), {call: "rain" for call in IDS})


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_by_the_responses_api(muster, looker, streamed):
    client = muster.client()
    tools = [{"type": "function", "name": "weather", "description": "The weather of a city.", "parameters": SCHEMA}]
    tools[0]["strict"] = False

    def complete(items):
        request = {"model": "looker", "input": items, "tools": tools}
        if not streamed:
            return client.responses.create(**request)
        with client.responses.stream(**request) as stream:
            return stream.get_final_response()

    reply = complete([QUESTION])
    assert looker.requests[-1]["tools"][0]["input_schema"] == SCHEMA
    assert reply.status == "completed"
    assert reply.output_text == CONTENT
    _, *calls = reply.output
    fields = [(call.type, call.call_id, call.name, json.loads(call.arguments), call.status) for call in calls]
    assert fields == [
        ("function_call", call, "weather", arguments, "completed") for call, arguments in zip(IDS, ARGUMENTS, strict=True)
    ]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == FIGURES
    assert reply.tools[0].name == "weather"

    results = [{"type": "function_call_output", "call_id": call.call_id, "output": "rain"} for call in calls]
    sent = [item.model_dump(exclude={"parsed_arguments", "parsed"}, exclude_unset=True) for item in reply.output]
    for item in sent:
        for part in item.get("content", []):
            part.pop("parsed", None)
    reply = complete([QUESTION, *sent, *results])
    assert reply.output_text == DONE
    assert answered(looker) == (list(zip(IDS, ARGUMENTS, strict=True)), {call: "rain" for call in IDS})


def test_the_events_of_a_call(muster):
    events = muster.client().responses.create(
        model="looker",
        input=[QUESTION],
        tools=[{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}],
        stream=True,
    )
    # The item behind the message is the first call.
    types = [event.type for event in events if getattr(event, "output_index", None) == 1]
    assert types == [
        "response.output_item.added",
        *["response.function_call_arguments.delta"] * len(CALLS[0][1]),
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]
