"""Clients whose address lacks `/v1`, or has it under `/openai`, find the same routes."""

import openai
import pytest
from upstream import ANSWER, vector_of

HELLO = [{"role": "user", "content": "Greet me."}]


@pytest.fixture(params=["", "/openai/v1"], ids=["without-v1", "openai-v1"])
def aliased(request, muster):
    return openai.OpenAI(api_key=muster.key, base_url=f"{muster.origin}{request.param}", max_retries=0, timeout=60)


def test_a_chat(aliased):
    assert aliased.chat.completions.create(model="echo", messages=HELLO).choices[0].message.content == ANSWER


def test_a_stream(aliased):
    chunks = aliased.chat.completions.create(model="echo", messages=HELLO, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ANSWER


def test_a_response(aliased):
    assert aliased.responses.create(model="echo", input="Greet me.").output_text == ANSWER


def test_the_models(aliased):
    assert "echo" in {model.id for model in aliased.models.list()}
    assert aliased.models.retrieve("echo").id == "echo"


def test_vectors(aliased):
    assert list(aliased.embeddings.create(model="vectors", input="one").data[0].embedding) == vector_of("one")


def test_a_refusal_is_typed_all_the_same(aliased):
    with pytest.raises(openai.NotFoundError) as caught:
        aliased.chat.completions.create(model="no-such-model", messages=HELLO)
    assert caught.value.code == "model_not_found"
