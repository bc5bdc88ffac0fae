"""The official client's own retries: it retries when the response requests it, and not otherwise."""

import time

import openai
import pytest
from server import Muster, settings
from upstream import ANSWER, Upstream

HELLO = [{"role": "user", "content": "Greet me."}]
ONE_AN_HOUR = "[limits.plan_b.free]\nrequests_per_hour = 1\n"


@pytest.fixture
def busy():
    """A provider that refuses its first request, with `Retry-After: 1`."""
    upstream = Upstream.start()
    yield upstream
    upstream.stop()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_client_waits_as_requested_and_retries(start, busy, stream):
    muster = start(providers=[("scripted", busy.base_url, ["busy-once"])])
    client = muster.client(max_retries=2)
    begun = time.monotonic()
    raw = client.chat.completions.with_raw_response.create(model="busy-once", messages=HELLO, stream=stream)
    took = time.monotonic() - begun
    reply = raw.parse()
    text = "".join(chunk.choices[0].delta.content or "" for chunk in reply) if stream else reply.choices[0].message.content
    assert text == ANSWER
    assert raw.retries_taken == 1
    assert len(busy.requests) == 2
    assert took >= 1, "it did not wait for the second of Retry-After"


def test_without_retries_the_error_has_the_wait(start, busy):
    muster = start(providers=[("scripted", busy.base_url, ["busy-once"])])
    with pytest.raises(openai.RateLimitError) as caught:
        muster.client().chat.completions.create(model="busy-once", messages=HELLO)
    headers = caught.value.response.headers
    assert (headers["retry-after"], headers.get("x-should-retry")) == ("1", None)


def test_what_a_retry_cannot_mend_is_not_retried(muster, upstream):
    client = muster.client(max_retries=5)
    before = len(upstream.requests)
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="tiny", messages=HELLO)
    assert caught.value.response.request.headers["x-stainless-retry-count"] == "0"
    assert len(upstream.requests) == before + 1


def test_a_wait_of_more_than_two_minutes_is_not_slept_through(tmp_path, upstream):
    config = settings([("scripted", upstream.base_url, ["echo"])], {"model": "none"})
    muster = Muster(tmp_path, f"{config}\n{ONE_AN_HOUR}")
    try:
        client = muster.client(muster.make_key(scopes=["chat"], plan_b="free"), max_retries=5)
        client.chat.completions.create(model="echo", messages=HELLO)
        before = len(upstream.requests)
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(model="echo", messages=HELLO)
    finally:
        muster.stop()
    headers = caught.value.response.headers
    assert headers["x-should-retry"] == "false"
    assert 120 < int(headers["retry-after"]) <= 3600
    assert caught.value.response.request.headers["x-stainless-retry-count"] == "0"
    assert len(upstream.requests) == before
