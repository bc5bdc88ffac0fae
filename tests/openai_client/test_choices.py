"""Several answers to one question."""

from upstream import ANSWER, USAGE, WORDS

HELLO = [{"role": "user", "content": "Greet me."}]


def test_two_answers(client, upstream):
    reply = client.chat.completions.create(model="echo", messages=HELLO, n=2)
    assert upstream.requests[-1]["n"] == 2
    assert [(choice.index, choice.message.content) for choice in reply.choices] == [(0, ANSWER), (1, ANSWER)]
    assert reply.usage.total_tokens == USAGE["total_tokens"]


def test_two_answers_streamed(client):
    chunks = list(client.chat.completions.create(model="echo", messages=HELLO, n=2, stream=True))
    for index in range(2):
        choices = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
        assert choices[0].delta.role == "assistant"
        assert [choice.delta.content for choice in choices if choice.delta.content] == WORDS
        assert choices[-1].finish_reason == "stop"
        assert all(choice.finish_reason is None for choice in choices[:-1])


def test_the_stream_helper_keeps_them_apart(client):
    with client.chat.completions.stream(model="echo", messages=HELLO, n=2) as stream:
        final = stream.get_final_completion()
    assert [(choice.index, choice.message.content) for choice in final.choices] == [(0, ANSWER), (1, ANSWER)]
