"""LangChain's classes for OpenAI, unmodified: what people have pointed at other gateways."""

import asyncio

import openai
import pytest
import tiktoken
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel
from upstream import ANSWER, ARGUMENTS, CALLS, DONE, USAGE, WORDS, vector_of

HELLO = [SystemMessage("Be brief."), HumanMessage("Greet me.")]


@pytest.fixture
def chat(muster):
    def chat(model="echo", **more):
        return ChatOpenAI(model=model, api_key=muster.key, base_url=f"{muster.origin}/v1", max_retries=0, **more)

    return chat


def test_invoke(chat, upstream):
    reply = chat(temperature=0.25).invoke(HELLO)
    assert isinstance(reply, AIMessage)
    assert (reply.content, reply.response_metadata["finish_reason"]) == (ANSWER, "stop")
    assert reply.usage_metadata["input_tokens"] == USAGE["prompt_tokens"]
    assert reply.usage_metadata["output_tokens"] == USAGE["completion_tokens"]
    assert [(turn["role"], turn["content"]) for turn in upstream.requests[-1]["messages"]] == [
        ("system", "Be brief."),
        ("user", "Greet me."),
    ]
    assert upstream.requests[-1]["temperature"] == 0.25


def test_stream(chat):
    chunks = list(chat(stream_usage=True).stream(HELLO))
    assert [chunk.content for chunk in chunks if chunk.content] == WORDS
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.usage_metadata["total_tokens"] == USAGE["total_tokens"]


def test_asynchronously(chat):
    async def talk():
        return "".join([chunk.content async for chunk in chat().astream(HELLO)])

    assert asyncio.run(talk()) == ANSWER


def test_several_at_once(chat):
    assert [reply.content for reply in chat().batch([HELLO] * 4)] == [ANSWER] * 4


def test_by_the_responses_api(chat):
    reply = chat(use_responses_api=True).invoke(HELLO)
    assert "".join(block["text"] for block in reply.content) == ANSWER


class weather(BaseModel):
    """The weather of a city."""

    city: str


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_tools(chat, upstream, streamed):
    model = chat("tools").bind_tools([weather])
    question = HumanMessage("How is the weather in Ulm and Bonn?")
    if streamed:
        chunks = list(model.stream([question]))
        reply = chunks[0]
        for chunk in chunks[1:]:
            reply += chunk
    else:
        reply = model.invoke([question])
    assert upstream.requests[-1]["tools"][0]["function"]["name"] == "weather"
    expected = [{"name": "weather", "args": weather.model_validate_json(text).model_dump()} for text in ARGUMENTS]
    assert [{"name": call["name"], "args": call["args"]} for call in reply.tool_calls] == expected
    assert [call["id"] for call in reply.tool_calls] == [name for name, *_ in CALLS]
    results = [ToolMessage("rain", tool_call_id=call["id"]) for call in reply.tool_calls]
    assert model.invoke([question, AIMessage("", tool_calls=reply.tool_calls), *results]).content == DONE


class Report(BaseModel):
    """A report."""

    city: str
    degrees: int


@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
def test_a_structured_answer(chat, upstream, method):
    model = chat("writer").with_structured_output(Report, method=method)
    assert model.invoke("Report as JSON.") == Report(city="Ulm", degrees=7)
    kind = {"json_schema": "json_schema", "json_mode": "json_object"}[method]
    assert upstream.requests[-1]["response_format"]["type"] == kind


def test_a_refusal_is_the_clients_own_exception(chat):
    with pytest.raises(openai.NotFoundError):
        chat("no-such-model").invoke(HELLO)


@pytest.fixture
def byte_tokens(monkeypatch):
    """An encoding whose tokens are bytes, under the name of the one that LangChain uses for an unknown model:
    the true one would have to be fetched from the network."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("cl100k_base", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={})
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "cl100k_base", encoding)


def embeddings(muster, **more):
    return OpenAIEmbeddings(model="vectors", api_key=muster.key, base_url=f"{muster.origin}/v1", max_retries=0, **more)


def test_texts_are_embedded(muster, upstream):
    model = embeddings(muster, check_embedding_ctx_length=False)
    assert model.embed_documents(["one", "three"]) == [vector_of("one"), vector_of("three")]
    assert upstream.requests[-1]["input"] == ["one", "three"]
    assert model.embed_query("one") == vector_of("one")


def test_by_default_it_sends_tokens(muster, upstream, byte_tokens):
    vectors = embeddings(muster).embed_documents(["one", "three"])
    assert upstream.requests[-1]["input"] == [list(b"one"), list(b"three")]
    # The scripted vector of tokens: LangChain leaves a single one as it is.
    assert vectors == [vector_of("one"), vector_of("three")]
