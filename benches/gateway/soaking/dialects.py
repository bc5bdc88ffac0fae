"""A chat request in each dialect, and a uniform summary of the answers."""

import dataclasses
import json

from .wire import Broken

QUESTION = "Say something of some length, please."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MAX_TOKENS = 256


@dataclasses.dataclass
class AnswerSummary:
    """The summary of an answer. What its dialect does not report is `None`."""

    model: str
    total: int
    prompt: int | None = None
    completion: int | None = None
    cost_usd: float | None = None
    called: bool = False


class Dialect:
    """Bodies of requests, and the reading of answers; `Broken` where an answer has not the form that it should."""

    name = path = ""
    tools = True

    def request_body(self, model, stream, tools):
        raise NotImplementedError

    def whole(self, body):
        """The `AnswerSummary` of a complete answer."""
        raise NotImplementedError

    def event(self, name, data, state):
        """Processes an event: the stream's `AnswerSummary` at its normal end, the body of an error event, else
        `None`."""
        raise NotImplementedError

    def code(self, body):
        """The code of an error."""
        error = body["error"]
        if not all(isinstance(error[name], str) for name in ("message", "code")):
            raise Broken(f"an error without its members: {body}")
        return error["code"]


def messages():
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]


class A(Dialect):
    name, path, tools = "a", "/api/chat", False

    def request_body(self, model, stream, tools):
        return {"model": model, "message": QUESTION, "stream": stream}

    def whole(self, body):
        if body["success"] is not True or not isinstance(body["response"], str):
            raise Broken(f"not an answer of interface A: {body}")
        return AnswerSummary(body["model"], body["tokens"])

    def event(self, name, data, state):
        if name == "delta":
            state["deltas"] = state.get("deltas", 0) + len(data["delta"])
        elif name == "done":
            summary = self.whole(data)
            if len(data["response"]) != state.get("deltas", 0):
                raise Broken("the whole answer is not the sum of its deltas")
            return summary
        elif name == "error":
            return data
        return None


class B(Dialect):
    name, path = "b", "/v1/chat/completions"

    def request_body(self, model, stream, tools):
        body = {"model": model, "messages": messages(), "max_tokens": MAX_TOKENS}
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if tools:
            function = {"name": "weather", "description": "The weather of a city.", "parameters": SCHEMA}
            body["tools"] = [{"type": "function", "function": function}]
        return body

    def summary(self, body, called):
        usage = body["usage"]
        prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
        return AnswerSummary(body["model"], usage["total_tokens"], prompt, completion, called=called)

    def whole(self, body):
        choice = body["choices"][0]
        if choice["finish_reason"] not in ("stop", "length", "tool_calls"):
            raise Broken(f"not the end of an answer: {choice}")
        return self.summary(body, bool(choice["message"].get("tool_calls")))

    def event(self, name, data, state):
        if data == "[DONE]":
            if "finish" not in state or "usage" not in state:
                raise Broken("[DONE] before the finish reason and the usage")
            return self.summary(state["usage"], state.get("called", False))
        if "error" in data:
            return data
        if data.get("usage"):
            state["usage"] = data
        for choice in data["choices"]:
            state["called"] = state.get("called", False) or bool(choice["delta"].get("tool_calls"))
            if choice["finish_reason"]:
                state["finish"] = choice["finish_reason"]
        return None


class Agent(Dialect):
    name, path, tools = "agent", "/api/llm/chat", False

    def request_body(self, model, stream, tools):
        return {"model": model, "messages": messages(), "max_tokens": MAX_TOKENS, "stream": stream}

    def whole(self, body):
        tokens = body["tokens"]
        return AnswerSummary(body["model"], tokens["total"], tokens["prompt"], tokens["completion"], body["cost_usd"])

    def event(self, name, data, state):
        if name == "done":
            return self.whole(data)
        return data if name == "error" else None

    def code(self, body):
        if not isinstance(body["detail"], str):
            raise Broken(f"an error without its members: {body}")
        return body["error_code"].lower()


class Gateway(Agent):
    """The agent platform's with its own list of models, budget and hedge."""

    name, path = "q159", "/api/q159/llm/chat"

    def request_body(self, model, stream, tools):
        body = super().request_body(model, stream, tools)
        del body["model"]
        models = list(dict.fromkeys([model, "mistral-small"]))
        return {**body, "models": models, "budget_usd": 0.05, "max_retries": 1, "hedge_after_ms": 100}

    def whole(self, body):
        if body["budget"]["model"] != body["model"] or not isinstance(body["breaker"], str):
            raise Broken(f"not a reply of the gateway: {body}")
        return super().whole(body)


class Messages(Dialect):
    name, path = "messages", "/v1/messages"

    def request_body(self, model, stream, tools):
        body = {"model": model, "max_tokens": MAX_TOKENS, "system": "Be brief.", "stream": stream,
                "messages": [{"role": "user", "content": QUESTION}]}
        if tools:
            body["tools"] = [{"name": "weather", "description": "The weather of a city.", "input_schema": SCHEMA}]
        return body

    def summary(self, model, usage, called):
        prompt, completion = usage["input_tokens"], usage["output_tokens"]
        return AnswerSummary(model, prompt + completion, prompt, completion, called=called)

    def whole(self, body):
        if body["type"] != "message" or not body["stop_reason"]:
            raise Broken(f"not a whole message: {body}")
        return self.summary(body["model"], body["usage"], any(block["type"] == "tool_use" for block in body["content"]))

    def event(self, name, data, state):
        if data["type"] == "message_start":
            state["model"] = data["message"]["model"]
        elif data["type"] == "content_block_start":
            state["called"] = state.get("called", False) or data["content_block"]["type"] == "tool_use"
        elif data["type"] == "message_delta":
            state["usage"] = data["usage"]
        elif data["type"] == "message_stop":
            return self.summary(state["model"], state["usage"], state.get("called", False))
        elif data["type"] == "error":
            return data
        return None

    def code(self, body):
        if body["type"] != "error" or not isinstance(body["error"]["message"], str):
            raise Broken(f"an error without its members: {body}")
        return body["error"]["type"]


class Responses(Dialect):
    name, path = "responses", "/v1/responses"

    def request_body(self, model, stream, tools):
        body = {"model": model, "input": QUESTION, "instructions": "Be brief.", "stream": stream,
                "max_output_tokens": MAX_TOKENS, "store": False}
        if tools:
            body["tools"] = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
        return body

    def whole(self, body):
        if body["status"] not in ("completed", "incomplete"):
            raise Broken(f"not a finished response: {body}")
        usage = body["usage"]
        called = any(item["type"] == "function_call" for item in body["output"])
        return AnswerSummary(body["model"], usage["total_tokens"], usage["input_tokens"], usage["output_tokens"], called=called)

    def event(self, name, data, state):
        if data["type"] in ("response.completed", "response.incomplete"):
            return self.whole(data["response"])
        return data if data["type"] == "error" else None


ALL = (A(), B(), Agent(), Gateway(), Messages(), Responses())


def parsed(data):
    """An event's data: JSON, but for the word that ends a stream of OpenAI's."""
    if data == "[DONE]":
        return data
    try:
        return json.loads(data)
    except ValueError as why:
        raise Broken(f"an event that is no JSON: {data[:100]!r}") from why
