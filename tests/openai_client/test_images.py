"""Pictures by the official client: links, base64, several at once, its typed errors, and pictures within chats."""

import base64
import urllib.request

import openai
import pytest
from upstream import png

MODEL = "gpt-image-2"


@pytest.fixture(scope="module")
def drawing(start, upstream):
    return start(providers=[("scripted", upstream.base_url, [MODEL])]).client()


def size_of(content):
    assert content.startswith(b"\x89PNG")
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def test_links_need_no_key(drawing, upstream):
    reply = drawing.images.generate(model=MODEL, prompt="a red boat", n=4, size="1792x1024", quality="hd")
    assert len(reply.data) == 4 and all(one.b64_json is None for one in reply.data)
    assert [one.revised_prompt for one in reply.data] == [f"picture {at}" for at in range(4)]
    # Directly to the loopback, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for one in reply.data:
        with opener.open(one.url, timeout=30) as response:
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


@pytest.fixture(scope="module")
def seeing(start, upstream):
    """A client of a server that may fetch pictures from the upstream's address, which is no public one."""
    address = upstream.base_url.removeprefix("http://").removesuffix("/v1")
    more = f'[media]\nfetch_allow = ["{address}"]'
    return start(providers=[("scripted", upstream.base_url, ["echo"])], more=more).client()


def chat_of(url):
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url, "detail": "low"}}]
    return {"model": "echo", "messages": [{"role": "user", "content": parts}]}


def test_pictures_of_chats_go_on_as_data(seeing, upstream):
    data = "data:image/png;base64," + base64.b64encode(png(3, 2)).decode()
    for url in (data, upstream.base_url.removesuffix("/v1") + "/picture.png"):
        assert seeing.chat.completions.create(**chat_of(url)).choices[0].message.content
        sent = upstream.requests[-1]["messages"][0]["content"]
        assert sent[0] == {"type": "text", "text": "What is this?"}
        assert sent[1]["image_url"] == {"url": data, "detail": "low"}


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:9/a.png", "url_not_allowed"),
        ("http://169.254.169.254/latest/meta-data/", "url_not_allowed"),
        ("http://[::ffff:10.0.0.1]/a.png", "url_not_allowed"),
        ("{upstream}/v1/models", "url_failed"),
    ],
)
def test_pictures_of_chats_come_from_public_addresses_only(seeing, upstream, url, code):
    before = len(upstream.requests)
    with pytest.raises(openai.BadRequestError) as refused:
        seeing.chat.completions.create(**chat_of(url.format(upstream=upstream.base_url.removesuffix("/v1"))))
    assert refused.value.code == code
    assert len(upstream.requests) == before, "no provider is called"
