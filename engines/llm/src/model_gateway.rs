//! q159: one call of the model gateway.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use serde_json::{Map, json};

/// Models that a call may name, as `POST /api/q159/llm/chat` has it.
const MAX_MODELS: usize = 16;

#[derive(Input)]
pub struct Input {
    messages: Vec<Message>,
    model: Option<String>,
    max_tokens: i64,
    temperature: f64,
    stream: bool,
    budget_usd: Option<f64>,
    tools: Vec<Value>,
    response_schema: Option<Value>,
    chain: Vec<String>,
}

#[derive(Input)]
struct Message {
    role: Role,
    content: String,
}

#[derive(Clone, Copy, Words)]
enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Output)]
pub struct Output {
    content: String,
    model: String,
    provider: String,
    tokens: Tokens,
    latency_ms: i64,
    cost_usd: Option<f64>,
    tool_calls: Vec<Value>,
    attempts: Vec<Attempt>,
    budget_left: BTreeMap<String, f64>,
}

#[derive(Output)]
struct Tokens {
    prompt: i64,
    completion: i64,
    total: i64,
}

#[derive(Output)]
struct Attempt {
    model: String,
    provider: String,
    outcome: String,
    ms: f64,
    breaker: Breaker,
}

#[derive(Clone, Copy, Words)]
#[wire(case = "kebab")]
enum Breaker {
    Closed,
    Open,
    HalfOpen,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    if input.stream {
        cx.warn("not_streamed: the answer comes as a whole; POST /api/q159/llm/chat streams");
    }
    match cx.ask(Need::Gateway { request: request(&input) })? {
        Answer::Given(reply) => output(&reply),
        Answer::Refused { why } => Err(Failure::Refused { why: format!("the model gateway gives no answer: {why}") }),
    }
}

fn check(input: &Input) -> Result<(), Failure> {
    if input.messages.is_empty() {
        return Err(Failure::invalid(&["messages"], "is empty: send one message or more"));
    }
    for (at, message) in input.messages.iter().enumerate() {
        if matches!(message.role, Role::Tool) {
            let problem = "must be system, user or assistant: a tool's result names its call, which only \
                           POST /v1/chat/completions takes";
            return Err(Failure::invalid(&["messages", &at.to_string(), "role"], problem));
        }
    }
    if !input.chain.is_empty() && input.model.is_some() {
        return Err(Failure::invalid(&["chain"], "replaces `model`: send one of them"));
    }
    if input.chain.len() > MAX_MODELS {
        return Err(Failure::invalid(&["chain"], format!("must hold at most {MAX_MODELS} models")));
    }
    Ok(())
}

/// The body of `POST /api/q159/llm/chat`; what is not set is left out.
fn request(input: &Input) -> Value {
    let message = |message: &Message| json!({ "role": message.role.word(), "content": message.content });
    let mut request = Map::new();
    request.insert("messages".to_owned(), input.messages.iter().map(message).collect());
    request.insert("max_tokens".to_owned(), input.max_tokens.into());
    request.insert("temperature".to_owned(), input.temperature.into());
    let optional = [
        ("model", input.model.clone().map(Value::from)),
        ("budget_usd", input.budget_usd.map(Value::from)),
        ("tools", (!input.tools.is_empty()).then(|| input.tools.clone().into())),
        ("response_schema", input.response_schema.clone()),
        ("models", (!input.chain.is_empty()).then(|| input.chain.clone().into())),
    ];
    request.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    request.into()
}

/// Reads the server's reply. One that lacks a member is a fault of the server.
fn output(reply: &Value) -> Result<Output, Failure> {
    let attempts = reply.get("attempts").and_then(Value::as_array).into_iter().flatten();
    let breaker = |provider: &str| match reply.pointer("/breakers").and_then(|all| all.get(provider)?.as_str()) {
        Some("open") => Breaker::Open,
        Some("half_open") => Breaker::HalfOpen,
        _ => Breaker::Closed,
    };
    let attempt = |attempt: &Value| {
        let provider = text(attempt, "provider")?;
        Ok(Attempt {
            model: text(attempt, "model")?,
            outcome: text(attempt, "outcome")?,
            ms: number(attempt, "latency_ms")?,
            breaker: breaker(&provider),
            provider,
        })
    };
    let budget = || {
        let budget = reply.get("budget")?;
        let left = budget.get("limit_usd")?.as_f64()? - budget.get("spent_usd")?.as_f64()?;
        Some((budget.get("model")?.as_str()?.to_owned(), left.max(0.0)))
    };
    let tokens = reply.get("tokens").ok_or_else(|| missing("tokens"))?;
    Ok(Output {
        content: text(reply, "content")?,
        model: text(reply, "model")?,
        provider: text(reply, "provider")?,
        tokens: Tokens {
            prompt: integer(tokens, "prompt")?,
            completion: integer(tokens, "completion")?,
            total: integer(tokens, "total")?,
        },
        latency_ms: integer(reply, "latency_ms")?,
        cost_usd: reply.get("cost_usd").and_then(Value::as_f64),
        tool_calls: reply.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default(),
        attempts: attempts.map(attempt).collect::<Result<_, Failure>>()?,
        budget_left: budget().into_iter().collect(),
    })
}

fn missing(name: &str) -> Failure {
    Failure::internal(format!("the gateway's reply has no `{name}`"))
}

fn text(value: &Value, name: &str) -> Result<String, Failure> {
    value.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| missing(name))
}

fn number(value: &Value, name: &str) -> Result<f64, Failure> {
    value.get(name).and_then(Value::as_f64).ok_or_else(|| missing(name))
}

fn integer(value: &Value, name: &str) -> Result<i64, Failure> {
    value.get(name).and_then(Value::as_i64).ok_or_else(|| missing(name))
}

#[cfg(test)]
mod tests {
    use muster_engine::Answered;

    use super::*;

    fn input() -> Input {
        Input {
            messages: vec![Message { role: Role::User, content: "ping".to_owned() }],
            model: None,
            max_tokens: 64,
            temperature: 0.5,
            stream: true,
            budget_usd: Some(0.25),
            tools: Vec::new(),
            response_schema: None,
            chain: vec!["big".to_owned(), "small".to_owned()],
        }
    }

    fn answered(answer: Answer) -> Context {
        let request = json!({
            "messages": [{ "role": "user", "content": "ping" }], "max_tokens": 64, "temperature": 0.5,
            "budget_usd": 0.25, "models": ["big", "small"],
        });
        Context::default().with_answers(vec![Answered { need: Need::Gateway { request }, answer }])
    }

    #[test]
    fn the_reply_of_the_gateway_is_the_output() {
        let reply = json!({
            "content": "pong", "model": "small", "provider": "b", "latency_ms": 12, "cost_usd": null,
            "tokens": { "prompt": 3, "completion": 1, "total": 4 }, "finish_reason": "stop",
            "attempts": [
                { "provider": "a", "model": "big", "outcome": "open_circuit", "latency_ms": 0 },
                { "provider": "b", "model": "small", "outcome": "ok", "latency_ms": 11 },
            ],
            "budget": { "model": "small", "spent_usd": 0.75, "limit_usd": 1.0, "resets_at": "2027-01-01T00:00:00Z" },
            "breaker": "closed", "breakers": { "a": "half_open", "b": "closed" }, "tool_calls": [],
        });
        let cx = answered(Answer::Given(reply));
        let output = run(input(), &cx).unwrap();
        assert_eq!((output.content.as_str(), output.tokens.total, output.cost_usd), ("pong", 4, None));
        let attempts = output.attempts.iter().map(|one| (one.provider.as_str(), one.breaker.word()));
        assert_eq!(attempts.collect::<Vec<_>>(), [("a", "half-open"), ("b", "closed")]);
        assert_eq!(output.budget_left, BTreeMap::from([("small".to_owned(), 0.25)]));
        assert!(cx.into_warnings()[0].starts_with("not_streamed: "));
        assert!(matches!(run(input(), &answered(Answer::Given(json!({})))), Err(Failure::Internal { .. })));
    }

    #[test]
    fn without_the_gateway_there_is_no_answer() {
        let refused = run(input(), &answered(Answer::Refused { why: "no server".to_owned() }));
        assert!(matches!(refused, Err(Failure::Refused { why }) if why.ends_with("no server")));
    }

    #[test]
    fn a_call_names_its_models_once_and_holds_no_results_of_tools() {
        let at = |input: Input| match run(input, &Context::default()) {
            Err(Failure::Invalid { problems }) => problems[0].loc.join("."),
            other => panic!("{:?}", other.is_ok()),
        };
        assert_eq!(at(Input { model: Some("x".to_owned()), ..input() }), "chain");
        assert_eq!(at(Input { messages: Vec::new(), ..input() }), "messages");
        let result = Message { role: Role::Tool, content: "4".to_owned() };
        assert_eq!(at(Input { messages: vec![result], ..input() }), "messages.0.role");
    }
}
