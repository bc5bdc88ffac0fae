"""The official client, unmodified, against a provider behind Muster: what works."""

import asyncio

import openai
import pytest
from openai.types import Model
from upstream import ANSWER, USAGE, WAITS_AFTER

HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Greet me."}]


def test_a_chat(client, upstream):
    reply = client.chat.completions.create(model="echo", messages=HELLO, temperature=0.25)
    assert reply.object == "chat.completion"
    assert reply.model == "echo"
    assert reply.id
    assert isinstance(reply.created, int) and reply.created > 1_600_000_000
    assert [choice.index for choice in reply.choices] == [0]
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].message.content == ANSWER
    assert reply.choices[0].finish_reason == "stop"
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == tuple(USAGE.values())
    request = upstream.requests[-1]
    assert request["model"] == "echo"
    assert request["messages"] == HELLO
    assert request["temperature"] == 0.25


def test_every_parameter_of_the_official_client_is_accepted_or_rejected_by_name(client, upstream):
    """All keyword arguments of `create` that need no feature of OpenAI's servers, with the values of its documentation."""
    reply = client.chat.completions.create(
        model="echo", messages=HELLO, frequency_penalty=0.5, logit_bias={"50256": -100}, logprobs=True, top_logprobs=2,
        max_completion_tokens=100, metadata={"topic": "greeting"}, modalities=["text"], n=1, parallel_tool_calls=True,
        presence_penalty=0.5, prompt_cache_key="greetings", reasoning_effort="low", response_format={"type": "text"},
        safety_identifier="ann", seed=7, service_tier="auto", stop=["END"], store=False, temperature=0.5,
        tool_choice="auto", tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        top_p=0.5, user="ann", verbosity="low",
    )
    assert reply.choices[0].message.content == ANSWER
    sent = upstream.requests[-1]
    assert not {"store", "metadata", "service_tier", "modalities"} & set(sent), "they change no answer and have no price"
    forwarded = {"logit_bias", "logprobs", "top_logprobs", "prompt_cache_key", "reasoning_effort", "safety_identifier",
                 "seed", "stop", "tools", "tool_choice", "parallel_tool_calls", "user", "verbosity", "n"}
    assert forwarded <= set(sent), forwarded - set(sent)
    before = len(upstream.requests)
    for argument in [
        {"web_search_options": {}},
        {"prediction": {"type": "content", "content": "x"}},
        {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}},
        {"extra_body": {"plugins": [{"id": "web"}]}},
    ]:
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="echo", messages=HELLO, **argument)
        name = next(iter(argument.get("extra_body", argument)))
        assert (caught.value.code, caught.value.param) in [("unsupported_value", name), ("unsupported_value", "audio")]
    assert len(upstream.requests) == before


def test_two_chats_have_two_ids(client):
    ids = {client.chat.completions.create(model="echo", messages=HELLO).id for _ in range(2)}
    assert len(ids) == 2


def test_content_in_parts_is_text(client, upstream):
    parts = [{"type": "text", "text": "Greet "}, {"type": "text", "text": "me."}]
    reply = client.chat.completions.create(model="echo", messages=[{"role": "user", "content": parts}])
    assert reply.choices[0].message.content == ANSWER
    sent = upstream.requests[-1]["messages"][0]["content"]
    text = sent if isinstance(sent, str) else "".join(part["text"] for part in sent)
    assert "".join(text.split()) == "Greetme."


def test_a_json_answer_is_requested(client, upstream):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    wanted = {"type": "json_schema", "json_schema": {"name": "thing", "schema": schema, "strict": True}}
    client.chat.completions.create(model="echo", messages=HELLO, response_format=wanted)
    assert upstream.requests[-1]["response_format"] == wanted


def test_a_stream(client):
    chunks = list(client.chat.completions.create(model="echo", messages=HELLO, stream=True))
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    assert chunks[0].model == "echo"
    # Usage was not requested: each chunk has its choice.
    assert all(len(chunk.choices) == 1 and chunk.usage is None for chunk in chunks)
    first, *deltas, last = [chunk.choices[0] for chunk in chunks]
    assert (first.delta.role, first.delta.content, first.finish_reason) == ("assistant", "", None)
    assert "".join(choice.delta.content for choice in deltas) == ANSWER
    assert all(choice.finish_reason is None for choice in deltas)
    assert (last.delta.content, last.finish_reason) == (None, "stop")


def test_a_stream_with_usage(client):
    stream = client.chat.completions.create(
        model="echo", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = list(stream)
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)
    assert last.choices == []
    usage = last.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == tuple(USAGE.values())
    assert (last.id, last.created, last.model) == (chunks[0].id, chunks[0].created, chunks[0].model)


def test_the_stream_helper(client):
    with client.chat.completions.stream(model="echo", messages=HELLO) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(deltas) == ANSWER
    assert final.choices[0].message.content == ANSWER
    assert final.choices[0].finish_reason == "stop"


def test_the_asynchronous_client(muster):
    async def talk():
        async with muster.client(kind=openai.AsyncOpenAI) as client:
            stream = await client.chat.completions.create(model="echo", messages=HELLO, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(talk()) == ANSWER


def test_a_client_that_leaves_ends_the_call_upstream(client, upstream):
    upstream.caller_left.clear()
    stream = client.chat.completions.create(model="waits", messages=HELLO, stream=True)
    seen = 0
    for chunk in stream:
        seen += bool(chunk.choices[0].delta.content)
        if seen == WAITS_AFTER:
            break
    assert not upstream.caller_left.is_set()
    stream.close()
    assert upstream.caller_left.wait(5), "the provider was still being read 5 s after the client left"


def test_the_list_of_models(client):
    page = client.models.list()
    assert page.object == "list"
    models = {model.id: model for model in page}
    assert {"echo", "acme/echo", "muster-core"} <= set(models)
    assert all(model.object == "model" and model.owned_by and isinstance(model.created, int) for model in models.values())
    core = models["muster-core"].model_extra
    assert {"capabilities", "context_window", "max_tokens", "pricing"} <= set(core)
    assert "chat" in core["capabilities"]


@pytest.mark.parametrize("name", ["echo", "acme/echo", "muster-core"])
def test_one_model(client, name):
    model = client.models.retrieve(name)
    assert (model.id, model.object) == (name, "model")
    assert model.model_dump() == next(listed for listed in client.models.list() if listed.id == name).model_dump()


def test_a_models_slash_may_stand_as_it_is(client):
    # The official client writes %2F; people and other clients do not.
    assert client.get("/models/acme/echo", cast_to=Model).id == "acme/echo"


def test_a_model_with_a_slash_answers(client, upstream):
    reply = client.chat.completions.create(model="acme/echo", messages=HELLO)
    assert (reply.model, reply.choices[0].message.content) == ("acme/echo", ANSWER)
    assert upstream.requests[-1]["model"] == "acme/echo"


def test_headers(muster):
    client = muster.client(muster.make_key(scopes=["chat"], plan_b="pro"))
    answers = [client.chat.completions.with_raw_response.create(model="echo", messages=HELLO) for _ in range(2)]
    first, second = (answer.headers for answer in answers)
    assert first["x-request-id"] and first["x-request-id"] != second["x-request-id"]
    assert answers[0].parse().choices[0].message.content == ANSWER
    # The plan `pro` of interface B: 60 requests a minute, 500,000 tokens a minute.
    assert (first["x-ratelimit-limit"], first["x-ratelimit-remaining"]) == ("60", "59")
    assert second["x-ratelimit-remaining"] == "58"
    assert int(first["x-ratelimit-reset"]) > 1_600_000_000
    assert first["x-ratelimit-limit-requests"] == "60"
    assert first["x-ratelimit-limit-tokens"] == "500000"
    for what in ("requests", "tokens"):
        assert int(first[f"x-ratelimit-remaining-{what}"]) <= int(first[f"x-ratelimit-limit-{what}"])
        assert first[f"x-ratelimit-reset-{what}"]


def test_a_request_id_is_taken_over(client):
    reply = client.chat.completions.create(model="echo", messages=HELLO, extra_headers={"X-Request-Id": "mine-42"})
    assert reply._request_id == "mine-42"
