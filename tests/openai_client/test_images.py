"""Pictures by the official client: links, base64, several at once, and its typed errors."""

import base64
import urllib.request

import openai
import pytest
from upstream import png

MODEL = "gpt-image-2"


@pytest.fixture(scope="module")
def drawing(start, upstream):
    return start(providers=[("openai", upstream.base_url, [MODEL])]).client()


def size_of(content):
    assert content.startswith(b"\x89PNG")
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def test_links_need_no_key(drawing, upstream):
    reply = drawing.images.generate(model=MODEL, prompt="a red boat", n=4, size="1792x1024", quality="hd")
    assert len(reply.data) == 4 and all(one.b64_json is None for one in reply.data)
    assert [one.revised_prompt for one in reply.data] == [f"picture {at}" for at in range(4)]
    for one in reply.data:
        with urllib.request.urlopen(one.url) as response:
            assert response.headers["content-type"] == "image/png"
            assert response.read() == png(1792, 1024)
    assert upstream.paths[-1].endswith("/v1/images/generations")
    sent = upstream.requests[-1]
    assert (sent["n"], sent["size"], sent["quality"]) == (4, "1792x1024", "high")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.total_tokens) == (7, 400, 407)
    assert (reply.size, reply.quality, reply.output_format) == ("1792x1024", "high", "png")


def test_base64(drawing):
    reply = drawing.images.generate(model=MODEL, prompt="a red boat", n=4, response_format="b64_json")
    assert len(reply.data) == 4 and all(one.url is None for one in reply.data)
    assert {size_of(base64.b64decode(one.b64_json, validate=True)) for one in reply.data} == {(1024, 1024)}


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"n": 5}, "n", "invalid_value"),
        ({"size": "256x256"}, "size", "unsupported_value"),
        ({"output_format": "webp"}, "output_format", "unsupported_value"),
        ({"prompt": "x" * 1001}, "prompt", "invalid_value"),
    ],
)
def test_values_that_are_not_supported(drawing, fields, param, code):
    with pytest.raises(openai.BadRequestError) as refused:
        drawing.images.generate(**{"model": MODEL, "prompt": "a red boat", **fields})
    assert (refused.value.param, refused.value.code) == (param, code)


def test_a_refused_prompt(drawing):
    with pytest.raises(openai.BadRequestError) as refused:
        drawing.images.generate(model=MODEL, prompt="something forbidden")
    assert refused.value.code == "content_policy_violation"


def test_an_unknown_model(drawing):
    with pytest.raises(openai.NotFoundError) as refused:
        drawing.images.generate(model="no-such-model", prompt="a red boat")
    assert refused.value.code == "model_not_found"


def test_no_key(drawing):
    with pytest.raises(openai.AuthenticationError):
        drawing.with_options(api_key="mst_wrong").images.generate(model=MODEL, prompt="a red boat")
