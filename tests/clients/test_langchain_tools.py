"""LangChain's tool calling, unmodified, by every API of the server and over every kind of provider: bound tools, whole
and streamed, structured answers and agents."""

import asyncio

import pytest
from gemini_upstream import GeminiUpstream
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field
from server import Muster
from tools_upstream import ARGUMENTS, DONE, ToolsUpstream
from upstream import Upstream

QUESTION = "How is the weather in Ulm and Bonn?"
# The model of each kind of provider.
MODELS = {"openai": "tools", "anthropic": "looker", "gemini": "gemini-looker"}


class weather(BaseModel):
    """The weather of a city."""

    city: str = Field(description="name of the city")


@tool("weather")
def look(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """A server in front of a provider of each kind."""
    openai, anthropic, gemini = Upstream.start(), ToolsUpstream(), GeminiUpstream()
    settings = ["[[provider]]", 'id = "openai-kind"', 'kind = "openai"', f'base_url = "{openai.base_url}"']
    settings += ['models = ["tools"]', anthropic.settings().split("[chain]")[0], gemini.provider(), "[llm]", 'model = "none"', ""]
    muster = Muster(tmp_path_factory.mktemp("muster"), "\n".join(settings))
    yield muster
    muster.stop()
    for upstream in (openai, anthropic, gemini):
        upstream.stop()


def chat_completions(muster, model, **more):
    return ChatOpenAI(model=model, api_key=muster.key, base_url=f"{muster.origin}/v1", max_retries=0, **more)


def responses(muster, model, **more):
    return chat_completions(muster, model, use_responses_api=True, **more)


def messages(muster, model, **more):
    more.setdefault("max_tokens", 256)
    return ChatAnthropic(model=model, api_key=muster.key, base_url=muster.origin, max_retries=0, **more)


APIS = [chat_completions, responses, messages]
# One loop for all: the clients keep their connections, which belong to the loop that opened them.
LOOP = asyncio.Runner()


async def streamed_asynchronously(model, turns):
    return added([chunk async for chunk in model.astream(turns)])


def added(chunks):
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


WAYS = {
    "whole": lambda model, turns: model.invoke(turns),
    "streamed": lambda model, turns: added(list(model.stream(turns))),
    "asynchronously": lambda model, turns: LOOP.run(model.ainvoke(turns)),
    "streamed-asynchronously": lambda model, turns: LOOP.run(streamed_asynchronously(model, turns)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("api", APIS)
def test_bound_tools_are_called_and_their_results_answered(kinds, api, kind, way):
    model = api(kinds, MODELS[kind]).bind_tools([weather])
    question = HumanMessage(QUESTION)
    reply = WAYS[way](model, [question])
    assert isinstance(reply, AIMessage)
    assert [(call["name"], call["args"]) for call in reply.tool_calls] == [("weather", given) for given in ARGUMENTS]
    assert not reply.invalid_tool_calls
    assert len({call["id"] for call in reply.tool_calls}) == 2 and all(call["id"] for call in reply.tool_calls)
    results = [ToolMessage("rain", tool_call_id=call["id"]) for call in reply.tool_calls]
    assert WAYS[way](model, [question, reply, *results]).text == DONE


@pytest.mark.parametrize("choice", ["any", "weather"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("api", APIS)
def test_a_choice_of_tools_is_kept(kinds, api, kind, choice):
    reply = api(kinds, MODELS[kind]).bind_tools([weather], tool_choice=choice).invoke(QUESTION)
    assert [call["args"] for call in reply.tool_calls] == ARGUMENTS


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("api", APIS)
def test_a_structured_answer_by_a_call(kinds, api, kind):
    model = api(kinds, MODELS[kind]).with_structured_output(weather, method="function_calling")
    assert model.invoke(QUESTION) == weather(**ARGUMENTS[0])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("api", APIS)
def test_an_agent_calls_its_tools_and_answers(kinds, api, kind):
    agent = create_agent(api(kinds, MODELS[kind]), tools=[look])
    turns = agent.invoke({"messages": [HumanMessage(QUESTION)]})["messages"]
    results = [turn.content for turn in turns if isinstance(turn, ToolMessage)]
    assert results == [f"rain in {given['city']}" for given in ARGUMENTS]
    assert turns[-1].text == DONE


class Embedded:
    """The server with the model in process, as the functions above name servers."""

    def __init__(self, client):
        self.key, self.origin = client.api_key, str(client.base_url).removesuffix("/v1/")


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("api", APIS)
def test_the_embedded_model_calls_the_tool_that_is_asked_for(embedded, api, way):
    # A sampled argument may be longer than any bound of tokens, and then is cut off.
    model = api(Embedded(embedded), "default", max_tokens=256, temperature=0).bind_tools([weather])
    reply = WAYS[way](model, [HumanMessage("How is the weather in Ulm?")])
    assert [call["name"] for call in reply.tool_calls][:1] == ["weather"]
    assert all(isinstance(call["args"]["city"], str) for call in reply.tool_calls)
    # What has nothing to do with the tool is answered with text.
    other = WAYS[way](model, [HumanMessage("Say hello.")])
    assert other.text and not other.tool_calls


@pytest.mark.parametrize("api", [chat_completions, messages])
def test_a_structured_answer_of_the_embedded_model(embedded, api):
    model = api(Embedded(embedded), "muster-core", max_tokens=256, temperature=0)
    assert isinstance(model.with_structured_output(weather, method="function_calling").invoke(QUESTION), weather)
