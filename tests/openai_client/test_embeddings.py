"""Embeddings by the official client: its default encoding, which is base64, and plain numbers."""

import base64
import struct

import openai
import pytest
from upstream import USAGE, vector_of

TEXTS = ["one", "three"]


def test_the_default_encoding(client, upstream):
    reply = client.embeddings.create(model="vectors", input=TEXTS)
    assert (reply.object, reply.model) == ("list", "vectors")
    assert [(one.object, one.index) for one in reply.data] == [("embedding", 0), ("embedding", 1)]
    # By default the client requests base64 and decodes it.
    assert [list(one.embedding) for one in reply.data] == [vector_of(text) for text in TEXTS]
    assert (reply.usage.prompt_tokens, reply.usage.total_tokens) == (USAGE["prompt_tokens"],) * 2
    assert upstream.paths[-1].endswith("/v1/embeddings")
    assert (upstream.requests[-1]["model"], upstream.requests[-1]["input"]) == ("vectors", TEXTS)


def test_base64_on_the_wire_is_what_was_requested(client):
    body = {"model": "vectors", "input": "one", "encoding_format": "base64"}
    packed = client.post("/embeddings", body=body, cast_to=object)["data"][0]["embedding"]
    data = base64.b64decode(packed, validate=True)
    # Numbers of 32 bits, the lowest byte first.
    assert list(struct.unpack(f"<{len(data) // 4}f", data)) == vector_of("one")


def test_plain_numbers(client):
    reply = client.embeddings.create(model="vectors", input="one", encoding_format="float")
    assert [one.embedding for one in reply.data] == [vector_of("one")]


@pytest.mark.parametrize("tokens", [[[5, 6, 7], [8]], [5, 6, 7]], ids=["texts", "text"])
def test_texts_that_are_tokens_already(client, upstream, tokens):
    reply = client.embeddings.create(model="vectors", input=tokens)
    texts = tokens if isinstance(tokens[0], list) else [tokens]
    assert [list(one.embedding) for one in reply.data] == [vector_of(text) for text in texts]
    assert upstream.requests[-1]["input"] in (tokens, texts)


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"input": []}, "input"),
        ({"input": {"text": "one"}}, "input"),
        ({"encoding_format": "hex"}, "encoding_format"),
        ({"dimensions": 0}, "dimensions"),
    ],
    ids=["nothing", "object", "encoding", "dimensions"],
)
def test_a_bad_request(client, upstream, wrong, param):
    before = len(upstream.requests)
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/embeddings", body={"model": "vectors", "input": "one", **wrong}, cast_to=object)
    assert caught.value.type == "invalid_request_error"
    assert caught.value.param.split(".")[0] == param
    assert len(upstream.requests) == before


def test_an_unknown_model(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.embeddings.create(model="no-such-model", input="one")
    assert caught.value.code == "model_not_found"


def test_a_wrong_key(muster):
    with pytest.raises(openai.AuthenticationError):
        muster.client("sk-something-else").embeddings.create(model="vectors", input="one")
