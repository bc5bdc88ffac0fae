"""Keys with allowed models, tags and a cache, through the official client."""

import json
import urllib.request

import openai
import pytest

HELLO = [{"role": "user", "content": "Hello?"}]


def make_key(muster, **more):
    return muster.make_key(scopes=["chat"], plan_b="enterprise", **more)


def complete(client, model="echo", **more):
    return client.chat.completions.with_raw_response.create(model=model, messages=HELLO, **more)


def test_a_model_that_the_key_may_not_use(muster):
    client = muster.client(make_key(muster, models=["echo"]))
    with pytest.raises(openai.PermissionDeniedError) as caught:
        complete(client, "tiny")
    assert (caught.value.type, caught.value.code) == ("permission_error", "model_not_allowed")
    assert caught.value.param == "model"
    assert [model.id for model in client.models.list()] == ["echo"]
    assert complete(client).parse().choices[0].message.content


def test_tags_of_metadata_are_accepted_as_litellm_sends_them(muster):
    key = make_key(muster)
    client = muster.client(key)
    tags = {"metadata": {"tags": ["prod", "job:7"]}}
    assert complete(client, extra_body=tags).parse().choices
    request = urllib.request.Request(
        f"{muster.origin}/api/v1/usage?group_by=tag", headers={"authorization": f"Bearer {key}"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        usage = json.load(answer)
    assert [row["tag"] for row in usage["usage"]] == ["job:7", "prod"]


def test_a_repeated_request_is_answered_from_the_cache(muster):
    client = muster.client(make_key(muster, cache_seconds=60))
    first = complete(client, temperature=0)
    second = complete(client, temperature=0)
    assert [answer.headers["x-muster-cache"] for answer in (first, second)] == ["miss", "hit"]
    assert int(second.headers["age"]) < 60
    assert first.parse().choices == second.parse().choices
    streamed = [
        "".join(
            chunk.choices[0].delta.content or ""
            for chunk in client.chat.completions.create(model="echo", messages=HELLO, temperature=0, stream=True)
            if chunk.choices
        )
        for _ in range(2)
    ]
    assert streamed[0] == streamed[1] == first.parse().choices[0].message.content
    fresh = complete(client, temperature=0, extra_headers={"cache-control": "no-cache"})
    assert fresh.headers["x-muster-cache"] == "miss"
