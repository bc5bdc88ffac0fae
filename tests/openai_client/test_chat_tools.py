"""Tools by the official client: called in parallel, whole, streamed and by the helpers, and answered."""

import json

import openai
import pytest
from pydantic import BaseModel
from upstream import ARGUMENTS, CALLS, DONE, JSON_WORDS, USAGE

QUESTION = {"role": "user", "content": "How is the weather in Ulm and Bonn?"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA, "strict": True},
    }
]
EXPECTED = [(name, "function", function, arguments) for (name, function, _), arguments in zip(CALLS, ARGUMENTS, strict=True)]


def summaries(calls):
    return [(call.id, call.type, call.function.name, call.function.arguments) for call in calls]


def complete(client, messages=(QUESTION,), **more):
    return client.chat.completions.create(model="tools", messages=list(messages), tools=TOOLS, **more)


def test_two_calls_at_once_and_their_results(client, upstream):
    reply = complete(client, tool_choice="auto", parallel_tool_calls=True)
    request = upstream.requests[-1]
    assert (request["tools"], request["tool_choice"], request["parallel_tool_calls"]) == (TOOLS, "auto", True)
    choice = reply.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    assert summaries(choice.message.tool_calls) == EXPECTED

    results = [{"role": "tool", "tool_call_id": name, "content": "rain"} for name, *_ in CALLS]
    reply = complete(client, [QUESTION, choice.message, *results])
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == (DONE, "stop")
    turns = upstream.requests[-1]["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "tool", "tool"]
    assert [(call["id"], call["function"]) for call in turns[1]["tool_calls"]] == [
        (name, {"name": function, "arguments": arguments}) for name, _, function, arguments in EXPECTED
    ]
    assert [(turn["tool_call_id"], turn["content"]) for turn in turns[2:]] == [(name, "rain") for name, *_ in CALLS]


@pytest.mark.parametrize(
    "choice", ["none", "required", {"type": "function", "function": {"name": "weather"}}], ids=["none", "required", "named"]
)
def test_the_choice_of_a_tool_is_handed_on(client, upstream, choice):
    complete(client, tool_choice=choice)
    assert upstream.requests[-1]["tool_choice"] == choice


def test_calls_are_streamed_piece_by_piece(client):
    chunks = list(complete(client, stream=True, stream_options={"include_usage": True}))
    pieces = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
    names = [(call.index, call.id, call.type, call.function.name) for call in pieces if call.id]
    assert names == [(at, name, "function", function) for at, (name, function, _) in enumerate(CALLS)]
    for at, arguments in enumerate(ARGUMENTS):
        assert "".join(call.function.arguments or "" for call in pieces if call.index == at) == arguments
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert reasons == ["tool_calls"]
    assert chunks[-1].usage.total_tokens == USAGE["total_tokens"]


def test_the_stream_helper_puts_the_calls_together(client):
    with client.chat.completions.stream(model="tools", messages=[QUESTION], tools=TOOLS) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        message = stream.get_final_completion().choices[0].message
    # Of a strict tool the helper reads the arguments too.
    assert [(event.index, event.name, event.parsed_arguments) for event in done] == [
        (at, "weather", json.loads(arguments)) for at, arguments in enumerate(ARGUMENTS)
    ]
    assert summaries(message.tool_calls) == EXPECTED


class weather(BaseModel):
    """The weather."""

    city: str


def test_a_tool_of_pydantic_is_parsed(client):
    tool = openai.pydantic_function_tool(weather)
    reply = client.chat.completions.parse(model="tools", messages=[QUESTION], tools=[tool])
    parsed = [call.function.parsed_arguments for call in reply.choices[0].message.tool_calls]
    assert parsed == [weather(city="Ulm"), weather(city="Bonn")]


class Report(BaseModel):
    city: str
    degrees: int


REPORT = Report(city="Ulm", degrees=7)
CONTENT_PROMPT = [{"role": "user", "content": "Report."}]


def check_request(request):
    format = request["response_format"]
    assert (format["type"], format["json_schema"]["name"], format["json_schema"]["strict"]) == ("json_schema", "Report", True)
    assert set(format["json_schema"]["schema"]["properties"]) == {"city", "degrees"}


def test_an_answer_of_pydantic_is_parsed(client, upstream):
    reply = client.chat.completions.parse(model="writer", messages=CONTENT_PROMPT, response_format=Report)
    assert reply.choices[0].message.parsed == REPORT
    check_request(upstream.requests[-1])


def test_the_stream_helper_parses_as_it_comes(client, upstream):
    with client.chat.completions.stream(model="writer", messages=CONTENT_PROMPT, response_format=Report) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    check_request(upstream.requests[-1])
    assert [event.delta for event in events if event.type == "content.delta" and event.delta] == JSON_WORDS
    assert [event.parsed for event in events if event.type == "content.done"] == [REPORT]
    assert final.choices[0].message.parsed == REPORT


def test_the_responses_api_parses_too(client, upstream):
    reply = client.responses.parse(model="writer", input="Report.", text_format=Report)
    assert reply.output_parsed == REPORT
    check_request(upstream.requests[-1])


@pytest.mark.parametrize("wrong", [{"tool_choice": "sometimes"}, {"tools": [{"type": "psychic"}]}], ids=["choice", "kind"])
def test_a_bad_tool(client, wrong):
    body = {"model": "tools", "messages": [QUESTION], "tools": TOOLS, **wrong}
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/chat/completions", body=body, cast_to=object)
    assert caught.value.param.startswith(next(iter(wrong)))
