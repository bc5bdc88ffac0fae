"""Anthropic's official client, unmodified, against a provider behind Muster that is not Anthropic's."""

import asyncio
import json
import urllib.request

import anthropic
import pytest
from server import new_key
from upstream import ANSWER, CUT_AFTER, USAGE, WORDS

HELLO = [{"role": "user", "content": "Greet me."}]
SPENT = (USAGE["prompt_tokens"], USAGE["completion_tokens"])


def client_of(muster, key=None, kind=anthropic.Anthropic, **more):
    credential = {"api_key": key or muster.key} if "auth_token" not in more else {}
    return kind(base_url=muster.origin, max_retries=0, timeout=60, **credential, **more)


@pytest.fixture(scope="module")
def client(muster):
    return client_of(muster)


def complete(client, model="echo", **more):
    return client.messages.create(**{"model": model, "max_tokens": 64, "messages": HELLO, **more})


def test_a_message(client, upstream):
    # The client has a name for the temperature no more; its older versions, and other clients, have.
    more = {"extra_body": {"temperature": 0.25}, "stop_sequences": ["END"], "metadata": {"user_id": "ann"}}
    reply = complete(client, system="Be brief.", **more)
    assert (reply.type, reply.role, reply.model) == ("message", "assistant", "echo")
    assert reply.id.startswith("msg_")
    assert [(block.type, block.text) for block in reply.content] == [("text", ANSWER)]
    assert (reply.stop_reason, reply.stop_sequence) == ("end_turn", None)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == SPENT
    assert reply._request_id.startswith("req_")
    request = upstream.requests[-1]
    assert request["messages"] == [{"role": "system", "content": "Be brief."}, *HELLO]
    assert (request["temperature"], request["stop"], request["user"]) == (0.25, ["END"], "ann")


def test_blocks_and_cache_marks(client, upstream):
    block = {"type": "text", "text": "Greet me.", "cache_control": {"type": "ephemeral"}}
    reply = complete(client, system=[block], messages=[{"role": "user", "content": [block]}])
    assert reply.content[0].text == ANSWER
    assert [turn["content"] for turn in upstream.requests[-1]["messages"]] == ["Greet me.", "Greet me."]


def test_a_key_in_either_header(muster):
    assert complete(client_of(muster, auth_token=muster.key)).content[0].text == ANSWER
    headers = {"x-api-key": muster.key, "anthropic-version": "2023-06-01", "content-type": "application/json"}
    body = json.dumps({"model": "echo", "max_tokens": 64, "messages": HELLO}).encode()
    request = urllib.request.Request(f"{muster.origin}/v1/messages", data=body, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        assert json.load(answer)["content"] == [{"type": "text", "text": ANSWER}]


def test_the_events_of_a_stream(client):
    events = list(complete(client, stream=True))
    deltas = ["content_block_delta"] * len(WORDS)
    assert [event.type for event in events] == [
        "message_start",
        "content_block_start",
        *deltas,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert [event.delta.text for event in events if event.type == "content_block_delta"] == WORDS
    assert events[-2].delta.stop_reason == "end_turn"


def test_the_stream_helper(client):
    with client.messages.stream(model="echo", max_tokens=64, messages=HELLO) as stream:
        deltas = list(stream.text_stream)
        final = stream.get_final_message()
    assert deltas == WORDS
    assert (final.content[0].text, final.stop_reason) == (ANSWER, "end_turn")
    # The estimate at the beginning was replaced by the provider's count.
    assert (final.usage.input_tokens, final.usage.output_tokens) == SPENT


def test_the_asynchronous_client(muster):
    async def talk():
        async with client_of(muster, kind=anthropic.AsyncAnthropic) as client:
            async with client.messages.stream(model="echo", max_tokens=64, messages=HELLO) as stream:
                return "".join([text async for text in stream.text_stream])

    assert asyncio.run(talk()) == ANSWER


def test_tokens_are_counted(client, upstream):
    before = len(upstream.requests)
    few = client.messages.count_tokens(model="echo", messages=HELLO).input_tokens
    many = client.messages.count_tokens(model="echo", system="Be brief. " * 50, messages=HELLO).input_tokens
    assert 0 < few < many
    assert len(upstream.requests) == before


def check(error, kind):
    assert error.body["type"] == "error"
    assert error.type == kind
    assert error.body["error"]["message"]
    assert error.request_id and error.request_id == error.body["request_id"]


@pytest.mark.parametrize("key", [new_key(), "sk-ant-something-else"], ids=["unknown", "foreign"])
def test_a_wrong_key(muster, key):
    with pytest.raises(anthropic.AuthenticationError) as caught:
        complete(client_of(muster, key))
    check(caught.value, "authentication_error")
    assert key not in caught.value.response.text


def test_a_key_without_the_scope(muster):
    with pytest.raises(anthropic.PermissionDeniedError) as caught:
        complete(client_of(muster, muster.make_key(scopes=["memory"])))
    check(caught.value, "permission_error")


def test_an_unknown_model(client):
    with pytest.raises(anthropic.NotFoundError) as caught:
        complete(client, "no-such-model")
    check(caught.value, "not_found_error")


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0},
        {"extra_body": {"temperature": 1.5}},
        {"messages": []},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "x"}}]}]},
    ],
    ids=["length", "temperature", "messages", "server-tool", "document"],
)
def test_a_bad_request(client, upstream, wrong):
    before = len(upstream.requests)
    with pytest.raises(anthropic.BadRequestError) as caught:
        complete(client, **wrong)
    check(caught.value, "invalid_request_error")
    # The message begins with the field at fault.
    assert caught.value.body["error"]["message"].startswith(next(iter(wrong.get("extra_body", wrong))))
    assert len(upstream.requests) == before


def test_the_limit_of_a_plan(muster):
    # The plan `free` of interface B: 3 requests a minute.
    client = client_of(muster, muster.make_key(scopes=["chat"], plan_b="free"))
    left = []
    for _ in range(3):
        headers = client.messages.with_raw_response.create(model="echo", max_tokens=64, messages=HELLO).headers
        left.append(headers["anthropic-ratelimit-requests-remaining"])
    assert left == ["2", "1", "0"]
    with pytest.raises(anthropic.RateLimitError) as caught:
        complete(client)
    check(caught.value, "rate_limit_error")
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 60


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_provider_that_fails(alone, stream):
    with pytest.raises(anthropic.InternalServerError) as caught:
        complete(client_of(alone("fails")), "fails", stream=stream)
    assert caught.value.status_code == 502
    check(caught.value, "api_error")


def test_no_provider_and_no_model(start):
    with pytest.raises(anthropic.InternalServerError) as caught:
        complete(client_of(start()), "default")
    assert caught.value.status_code == 503
    check(caught.value, "overloaded_error")
    assert int(caught.value.response.headers["retry-after"]) >= 1


def test_a_stream_that_breaks_off(alone):
    seen = []
    with pytest.raises(anthropic.APIStatusError) as caught:
        for event in complete(client_of(alone("cut")), "cut", stream=True):
            assert event.type not in ("message_delta", "message_stop")
            if event.type == "content_block_delta":
                seen.append(event.delta.text)
    # What was sent is delivered, once; then the truth.
    assert seen == [f"{number} " for number in range(CUT_AFTER)]
    check(caught.value, "api_error")
