"""The official client raises each of our errors as its own typed exception."""

import openai
import pytest
from server import new_key
from upstream import CUT_AFTER

HELLO = [{"role": "user", "content": "Hello?"}]


def complete(client, model="echo", **more):
    return client.chat.completions.create(model=model, messages=HELLO, **more)


def check_shape(error, kind, code):
    """All four members exist and agree with the status."""
    assert {"message", "type", "param", "code"} <= set(error.body)
    assert error.body["message"]
    assert (error.type, error.code) == (kind, code)
    assert error.request_id


@pytest.mark.parametrize("key", [new_key(), "sk-something-else", "mst_short"], ids=["unknown", "foreign", "malformed"])
def test_a_wrong_key(muster, key):
    with pytest.raises(openai.AuthenticationError) as caught:
        complete(muster.client(key))
    check_shape(caught.value, "invalid_request_error", "invalid_api_key")
    assert caught.value.response.headers["www-authenticate"].startswith("Bearer")
    assert key not in caught.value.response.text


def test_the_right_identifier_with_a_wrong_secret(muster):
    identifier = muster.key[: len("mst_") + 12]
    secret = new_key()[len("mst_") + 12 :]
    with pytest.raises(openai.AuthenticationError):
        complete(muster.client(identifier + secret))


def test_a_key_without_the_scope(muster):
    client = muster.client(muster.make_key(scopes=["memory"]))
    with pytest.raises(openai.PermissionDeniedError) as caught:
        complete(client)
    check_shape(caught.value, "permission_error", "insufficient_permissions")
    assert "chat" in caught.value.body["message"]
    with pytest.raises(openai.PermissionDeniedError):
        client.models.list()


@pytest.mark.parametrize(
    "call",
    [lambda client: complete(client, "no-such-model"), lambda client: client.models.retrieve("no-such-model")],
    ids=["chat", "retrieve"],
)
def test_an_unknown_model(client, call):
    with pytest.raises(openai.NotFoundError) as caught:
        call(client)
    check_shape(caught.value, "invalid_request_error", "model_not_found")
    assert "no-such-model" in caught.value.body["message"]


# 422 is the agent dialect's: on /v1 what cannot be read is 400, and names the field.
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": "echo"}, "messages"),
        ({"messages": HELLO}, "model"),
        ({"model": "echo", "messages": []}, "messages"),
        ({"model": "echo", "messages": "Hello?"}, "messages"),
        ({"model": 7, "messages": HELLO}, "model"),
        ({"model": "echo", "messages": HELLO, "temperature": 2.5}, "temperature"),
        ({"model": "echo", "messages": HELLO, "temperature": -0.1}, "temperature"),
        ({"model": "echo", "messages": HELLO, "temperature": "hot"}, "temperature"),
        ({"model": "echo", "messages": HELLO, "max_tokens": 0}, "max_tokens"),
        ({"model": "echo", "messages": HELLO, "top_p": 1.5}, "top_p"),
        ({"model": "echo", "messages": HELLO, "n": 5}, "n"),
        ({"model": "echo", "messages": HELLO, "stream": "yes"}, "stream"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_bad_request(client, upstream, body, param):
    before = len(upstream.requests)
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/chat/completions", body=body, cast_to=object)
    assert caught.value.type == "invalid_request_error"
    assert {"message", "type", "param", "code"} <= set(caught.value.body)
    assert caught.value.param == param
    assert len(upstream.requests) == before, "a request that cannot be read went to the provider"


def test_an_unknown_role(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="echo", messages=[{"role": "wizard", "content": "Hello?"}])
    assert caught.value.param.startswith("messages")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_prompt_that_is_too_long_for_the_provider(client, stream):
    with pytest.raises(openai.BadRequestError) as caught:
        complete(client, "tiny", stream=stream)
    check_shape(caught.value, "invalid_request_error", "context_length_exceeded")


def test_the_limit_of_a_plan(muster):
    # The plan `free` of interface B: 3 requests a minute.
    client = muster.client(muster.make_key(scopes=["chat"], plan_b="free"))
    left = [
        client.chat.completions.with_raw_response.create(model="echo", messages=HELLO).headers["x-ratelimit-remaining"]
        for _ in range(3)
    ]
    assert left == ["2", "1", "0"]
    with pytest.raises(openai.RateLimitError) as caught:
        complete(client)
    check_shape(caught.value, "rate_limit_error", "rate_limit_exceeded")
    headers = caught.value.response.headers
    assert 1 <= int(headers["retry-after"]) <= 60
    assert (headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]) == ("3", "0")


def test_a_limit_is_one_keys_own(muster):
    spent, fresh = (muster.client(muster.make_key(scopes=["chat"], plan_b="free")) for _ in range(2))
    for _ in range(3):
        complete(spent)
    with pytest.raises(openai.RateLimitError):
        complete(spent)
    complete(fresh)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_provider_that_fails(broken, stream):
    with pytest.raises(openai.InternalServerError) as caught:
        complete(broken("fails"), "fails", stream=stream)
    # One call is too few for the breaker: the provider was called, and the error reports its failure.
    assert caught.value.status_code == 502
    check_shape(caught.value, "server_error", "provider_failed")


def test_a_stream_that_breaks_off(broken):
    stream = complete(broken("cut"), "cut", stream=True)
    seen = []
    with pytest.raises(openai.APIError) as caught:
        for chunk in stream:
            assert chunk.choices[0].finish_reason is None
            seen.append(chunk.choices[0].delta.content)
    # What was sent is delivered, once; then the truth, in the stream and not as a status.
    assert [text for text in seen if text] == [f"{number} " for number in range(CUT_AFTER)]
    assert not isinstance(caught.value, (openai.APIStatusError, openai.APIConnectionError))
    assert {"message", "type", "param", "code"} <= set(caught.value.body)
    assert (caught.value.type, caught.value.code) == ("server_error", "provider_failed")


def test_no_provider_and_no_model(start):
    with pytest.raises(openai.InternalServerError) as caught:
        complete(start().client(), "default")
    assert caught.value.status_code == 503
    assert caught.value.type == "service_unavailable_error"
    assert int(caught.value.response.headers["retry-after"]) >= 1
    message = caught.value.body["message"]
    # Models are to be fetched, or, where the server was built to run none, it is to be built again.
    assert "models" in message or "feature `llm`" in message, f"it does not say how to mend it: {message}"
