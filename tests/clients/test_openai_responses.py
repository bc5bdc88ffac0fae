"""OpenAI's official client by its Responses API, against a provider behind Muster that has no such API."""

import asyncio

import openai
import pytest
from upstream import ANSWER, CUT_AFTER, USAGE, WORDS

SPENT = tuple(USAGE.values())


@pytest.fixture(scope="module")
def client(muster):
    return muster.client()


def complete(client, model="echo", **more):
    return client.responses.create(**{"model": model, "input": "Greet me.", **more})


def test_a_response(client, upstream):
    reply = complete(client, instructions="Be brief.", temperature=0.25, max_output_tokens=64, metadata={"trip": "7"})
    assert (reply.object, reply.status, reply.model) == ("response", "completed", "echo")
    assert reply.id.startswith("resp_")
    assert reply.output_text == ANSWER
    assert [(item.type, item.role, item.status) for item in reply.output] == [("message", "assistant", "completed")]
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.total_tokens) == SPENT
    assert (reply.usage.input_tokens_details.cached_tokens, reply.usage.output_tokens_details.reasoning_tokens) == (0, 0)
    assert (reply.instructions, reply.metadata, reply.temperature) == ("Be brief.", {"trip": "7"}, 0.25)
    assert (reply.error, reply.incomplete_details, reply.previous_response_id) == (None, None, None)
    request = upstream.requests[-1]
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Greet me."},
    ]
    assert request["temperature"] == 0.25


def test_the_answer_holds_what_the_clients_types_require(client):
    # The client does not validate; this checks the answer against its declarations.
    reply = complete(client)
    type(reply).model_validate(reply.model_dump(exclude_unset=True))
    assert reply.store is False


def test_a_conversation_goes_on_with_the_output_of_before(client, upstream):
    first = complete(client)
    turns = [{"role": "user", "content": "Greet me."}, *first.output, {"role": "user", "content": "Again."}]
    assert complete(client, input=turns).output_text == ANSWER
    sent = [(turn["role"], turn["content"]) for turn in upstream.requests[-1]["messages"]]
    assert sent == [("user", "Greet me."), ("assistant", ANSWER), ("user", "Again.")]


def test_a_format_is_requested(client, upstream):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    format = {"type": "json_schema", "name": "thing", "schema": schema, "strict": True}
    assert complete(client, text={"format": format}).text.format.name == "thing"
    wanted = {"name": "thing", "schema": schema, "strict": True}
    assert upstream.requests[-1]["response_format"] == {"type": "json_schema", "json_schema": wanted}


def test_the_events_of_a_stream(client):
    events = list(complete(client, stream=True))
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * len(WORDS),
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == WORDS
    for event in events:
        type(event).model_validate(event.model_dump(exclude_unset=True))
    last = events[-1].response
    assert (last.output_text, last.status) == (ANSWER, "completed")
    assert (last.usage.input_tokens, last.usage.output_tokens, last.usage.total_tokens) == SPENT


def test_the_stream_helper(client):
    with client.responses.stream(model="echo", input="Greet me.") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert deltas == WORDS
    assert final.output_text == ANSWER


def test_the_asynchronous_client(muster):
    async def talk():
        async with muster.client(kind=openai.AsyncOpenAI) as client:
            stream = await client.responses.create(model="echo", input="Greet me.", stream=True)
            return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])

    assert asyncio.run(talk()) == ANSWER


@pytest.mark.parametrize(
    ("wrong", "param", "code"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "unsupported_value"),
        ({"conversation": "conv_1"}, "conversation", "unsupported_value"),
        ({"background": True}, "background", "unsupported_value"),
        ({"truncation": "auto"}, "truncation", "unsupported_value"),
        ({"tools": [{"type": "web_search"}]}, "tools.0.type", "unsupported_value"),
        ({"temperature": 3}, "temperature", "invalid_value"),
        ({"input": []}, "input", "invalid_value"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_bad_request(client, upstream, wrong, param, code):
    before = len(upstream.requests)
    with pytest.raises(openai.BadRequestError) as caught:
        complete(client, **wrong)
    assert (caught.value.type, caught.value.param, caught.value.code) == ("invalid_request_error", param, code)
    assert len(upstream.requests) == before


def test_an_unknown_model(client):
    with pytest.raises(openai.NotFoundError) as caught:
        complete(client, "no-such-model")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_provider_that_fails(alone, stream):
    with pytest.raises(openai.InternalServerError) as caught:
        complete(alone("fails").client(), "fails", stream=stream)
    assert (caught.value.status_code, caught.value.code) == (502, "provider_failed")


def test_a_stream_that_breaks_off(alone):
    seen, failed = [], []
    with pytest.raises(openai.APIError) as caught:
        for event in complete(alone("cut").client(), "cut", stream=True):
            assert event.type != "response.completed"
            if event.type == "response.output_text.delta":
                seen.append(event.delta)
            if event.type == "response.failed":
                failed.append(event.response)
    # What was sent is delivered, once; then the truth, in the stream and not as a status.
    assert seen == [f"{number} " for number in range(CUT_AFTER)]
    assert [(response.status, response.error.code) for response in failed] == [("failed", "provider_failed")]
    assert not isinstance(caught.value, (openai.APIStatusError, openai.APIConnectionError))
    assert (caught.value.type, caught.value.code) == ("server_error", "provider_failed")
