"""The official client against the model in process: no key of anybody, no network."""

import json

MODEL = "muster-core"
COUNT = [{"role": "user", "content": "Count from one to fifty, in words."}]


def test_a_chat(embedded):
    reply = embedded.chat.completions.create(model=MODEL, messages=COUNT, max_tokens=8)
    assert reply.model == MODEL
    assert reply.choices[0].message.content
    usage = reply.usage
    assert usage.prompt_tokens > len(COUNT[0]["content"].split())
    assert 1 <= usage.completion_tokens <= 8
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert (reply.choices[0].finish_reason == "length") == (usage.completion_tokens == 8)


def test_it_is_the_default(embedded):
    assert embedded.chat.completions.create(model="default", messages=COUNT, max_tokens=1).model == MODEL


def test_a_stream_with_usage(embedded):
    stream = embedded.chat.completions.create(
        model=MODEL, messages=COUNT, max_tokens=8, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = list(stream)
    assert (chunks[0].choices[0].delta.role, chunks[0].choices[0].delta.content) == ("assistant", "")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")
    assert last.choices == [] and 1 <= last.usage.completion_tokens <= 8
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in [*chunks, last]}) == 1


def test_a_json_schema_is_kept(embedded):
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    reply = embedded.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "Is water wet?"}],
        max_tokens=64,
        response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}},
    )
    assert reply.choices[0].finish_reason == "stop"
    verdict = json.loads(reply.choices[0].message.content)
    assert set(verdict) == {"answer"} and verdict["answer"] in ("yes", "no")


def test_a_stream_that_is_left_frees_its_place(embedded):
    # More than there are slots: a slot that is not released would leave the last one waiting.
    for _ in range(9):
        stream = embedded.chat.completions.create(model=MODEL, messages=COUNT, max_tokens=400, stream=True)
        next(chunk for chunk in stream if chunk.choices[0].delta.content)
        stream.close()
    reply = embedded.chat.completions.create(model=MODEL, messages=COUNT, max_tokens=1)
    assert reply.usage.completion_tokens == 1
