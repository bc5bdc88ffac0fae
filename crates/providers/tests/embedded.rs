//! Adapter of the in-process chat model, over a scripted model.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use muster_models::{
    ChatModel, ChatTurn, Finish, Format, GenerateEvent, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats,
    ModelStatus, Role as Speaker, TokenUsage, Tool as ModelTool, ToolCall as ModelCall, ToolChoice as ModelChoice,
    Toolbox,
};
use muster_providers::{
    Adapter, Call, ChatEvent, ChatRequest, Choice, ClientFault, Content, ContentPart, Delta, EmbeddedAdapter,
    FaultClass, FinishReason, Image, ImageSource, Message, Phase, ResponseFormat, Role, Sampling, Tool, ToolCall,
    ToolChoice, ToolDelta, Usage,
};
use support::{LONG, SHORT, call, call_within};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Plays its script for every request; without a script it rejects.
#[derive(Debug)]
struct Scripted {
    /// One entry per request, cyclically.
    answers: Vec<Result<Vec<GenerateEvent>, ModelError>>,
    /// Keeps the channel open after the script, like an engine that hangs.
    hangs: bool,
    requests: Mutex<Vec<GenerateRequest>>,
    open: Mutex<Vec<mpsc::Sender<GenerateEvent>>>,
    cancel: CancellationToken,
}

impl Scripted {
    fn new(answer: Result<Vec<GenerateEvent>, ModelError>) -> Self {
        Self::several(vec![answer])
    }

    fn several(answers: Vec<Result<Vec<GenerateEvent>, ModelError>>) -> Self {
        Self {
            answers,
            hangs: false,
            requests: Mutex::default(),
            open: Mutex::default(),
            cancel: CancellationToken::new(),
        }
    }
}

impl ChatModel for Scripted {
    fn info(&self) -> ModelInfo {
        ModelInfo { id: "scripted".to_owned(), name: "Scripted".to_owned(), context: 4096, max_tokens: 1024 }
    }

    fn status(&self) -> ModelStatus {
        ModelStatus::Ready
    }

    fn stats(&self) -> ModelStats {
        ModelStats::default()
    }

    fn count(&self, turns: &[ChatTurn], tools: &[ModelTool]) -> Option<u32> {
        let tools = u32::try_from(tools.len()).ok();
        turns.iter().map(|turn| self.count_text(&turn.content)).chain([tools]).sum()
    }

    fn count_text(&self, text: &str) -> Option<u32> {
        u32::try_from(text.split(' ').count()).ok()
    }

    fn generate(&self, request: GenerateRequest) -> Result<Generation, ModelError> {
        let nth = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request);
            (requests.len() - 1) % self.answers.len()
        };
        let events = self.answers[nth].clone()?;
        let (tx, rx) = mpsc::channel(16);
        for event in events {
            tx.try_send(event).unwrap();
        }
        if self.hangs {
            self.open.lock().unwrap().push(tx);
        }
        Ok(Generation::new(rx, self.cancel.clone()))
    }
}

fn delta(text: &str) -> GenerateEvent {
    GenerateEvent::Delta(text.to_owned())
}

fn done(finish: Finish) -> GenerateEvent {
    let usage = TokenUsage { prompt: 5, completion: 2 };
    GenerateEvent::Done { finish, usage }
}

const FIGURES: Option<Usage> = Some(Usage { prompt_tokens: 5, completion_tokens: 2, estimated: false });

fn adapter(model: Scripted) -> (EmbeddedAdapter, Arc<Scripted>) {
    let model = Arc::new(model);
    (EmbeddedAdapter::new(model.clone()), model)
}

fn core_call() -> Call {
    Call { upstream_model: "muster-core".to_owned(), ..call() }
}

#[tokio::test]
async fn responses_are_streamed_completely() {
    let script = vec![delta("He"), delta(""), delta("y"), done(Finish::Length)];
    let (adapter, _) = adapter(Scripted::new(Ok(script)));
    let events: Vec<_> = adapter.stream(core_call()).await.unwrap().collect().await;
    let end = ChatEvent::Done { finish: FinishReason::Length, usage: FIGURES };
    assert_eq!(events, [Ok(ChatEvent::text("He")), Ok(ChatEvent::text("y")), Ok(end)]);
    let reply = adapter.complete(core_call()).await.unwrap();
    assert_eq!((reply.first.content.as_str(), reply.model.as_str()), ("Hey", "muster-core"));
    assert_eq!((reply.first.finish, reply.usage), (FinishReason::Length, FIGURES));
    assert_eq!(adapter.count_prompt(&core_call()), Some(6));
}

#[tokio::test]
async fn empty_responses_are_valid() {
    let (adapter, _) = adapter(Scripted::new(Ok(vec![done(Finish::Stop)])));
    let reply = adapter.complete(core_call()).await.unwrap();
    assert_eq!((reply.first.content.as_str(), reply.first.finish), ("", FinishReason::Stop));
}

#[tokio::test]
async fn a_request_is_translated_field_by_field() {
    let (adapter, model) = adapter(Scripted::new(Ok(vec![done(Finish::Stop)])));
    let say = |role, content: &str| Message::text(role, content);
    let schema = serde_json::json!({"type": "object"});
    let request = ChatRequest {
        messages: vec![
            say(Role::Developer, "d"),
            say(Role::System, "s"),
            say(Role::User, "u"),
            say(Role::Assistant, "a"),
            say(Role::Tool, "t"),
        ],
        sampling: Sampling {
            temperature: Some(0.2),
            top_p: Some(0.9),
            presence_penalty: Some(0.5),
            frequency_penalty: Some(-0.5),
            top_k: None,
            seed: Some(42),
            stop: vec!["END".to_owned()],
        },
        max_tokens: Some(9999),
        format: ResponseFormat::JsonSchema { name: "n".to_owned(), schema: schema.clone(), strict: None },
        ..ChatRequest::default()
    };
    let full = Call { request: Arc::new(request), ..core_call() };
    adapter.complete(full).await.unwrap();
    let plain = Call { request: Arc::default(), ..core_call() };
    adapter.complete(plain).await.unwrap();
    let requests = model.requests.lock().unwrap();
    let turn = |role, content: &str| ChatTurn::text(role, content);
    assert_eq!(
        requests[0],
        GenerateRequest {
            turns: vec![
                turn(Speaker::System, "d"),
                turn(Speaker::System, "s"),
                turn(Speaker::User, "u"),
                turn(Speaker::Assistant, "a"),
                turn(Speaker::Tool, "t"),
            ],
            // The model's own limit.
            max_tokens: 1024,
            temperature: 0.2,
            top_p: 0.9,
            presence_penalty: 0.5,
            frequency_penalty: -0.5,
            seed: Some(42),
            stop: vec!["END".to_owned()],
            format: Format::JsonSchema(schema),
            tools: None,
        }
    );
    // Contract 2: temperature 0.7 by default.
    assert_eq!((requests[1].temperature, requests[1].top_p, requests[1].seed), (0.7, 1.0, None));
    assert_eq!((requests[1].max_tokens, &requests[1].format), (1024, &Format::Text));
}

#[tokio::test]
async fn each_rejection_has_its_class() {
    let minute = Duration::from_secs(60);
    let rows = [
        (ModelError::Absent { mend: "make models".into() }, FaultClass::Transient, None, None),
        (ModelError::Loading { percent: 50 }, FaultClass::Transient, None, None),
        (ModelError::Failed { why: "it broke".into() }, FaultClass::Transient, None, None),
        (ModelError::Busy { retry_after: minute }, FaultClass::Transient, None, None),
        (
            ModelError::ContextTooLong { tokens: 9, context: 8 },
            FaultClass::Client,
            Some(ClientFault::ContextLengthExceeded),
            Some("messages"),
        ),
        (
            ModelError::Unsupported { field: "response_format".into(), why: "too deep".into() },
            FaultClass::Client,
            Some(ClientFault::UnsupportedValue),
            Some("response_format"),
        ),
    ];
    for (error, class, client, param) in rows {
        let waits = matches!(error, ModelError::Absent { .. } | ModelError::Loading { .. } | ModelError::Busy { .. });
        let (adapter, _) = adapter(Scripted::new(Err(error.clone())));
        let fault = adapter.complete(core_call()).await.unwrap_err();
        assert_eq!((fault.class, fault.client, fault.param.as_deref()), (class, client, param));
        assert_eq!(fault.retry_after.is_some(), waits, "{error}");
        assert_eq!(fault.message, error.to_string());
        if matches!(error, ModelError::Busy { .. }) {
            assert_eq!(fault.retry_after, Some(minute));
        }
    }
}

#[tokio::test]
async fn breaks_are_reported_only_after_the_first_text() {
    let failed = GenerateEvent::Failed(ModelError::Failed { why: "it broke".into() });
    for end in [vec![failed], vec![]] {
        let (adapter, _) = self::adapter(Scripted::new(Ok(end.clone())));
        let fault = adapter.stream(core_call()).await.err().unwrap();
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta));
        let script = [vec![delta("a")], end].concat();
        let (adapter, _) = self::adapter(Scripted::new(Ok(script)));
        let events: Vec<_> = adapter.stream(core_call()).await.unwrap().collect().await;
        assert_eq!(events[0], Ok(ChatEvent::text("a")));
        let fault = events[1].clone().unwrap_err();
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::BetweenDeltas));
        assert_eq!(events.len(), 2);
        assert!(adapter.complete(core_call()).await.is_err());
    }
}

#[tokio::test]
async fn a_stuck_engine_is_cancelled_at_the_time_limit() {
    let mut model = Scripted::new(Ok(vec![delta("a")]));
    model.hangs = true;
    let (adapter, model) = adapter(model);
    let mut timeouts = core_call().timeouts;
    timeouts.between_deltas = SHORT;
    let events: Vec<_> = adapter.stream(call_within(timeouts)).await.unwrap().collect().await;
    assert_eq!(events[1].clone().unwrap_err().phase, Phase::BetweenDeltas);
    assert!(model.cancel.is_cancelled());
}

#[tokio::test]
async fn dropping_cancels_the_work() {
    let mut model = Scripted::new(Ok(vec![delta("a")]));
    model.hangs = true;
    let (adapter, model) = adapter(model);
    let stream = adapter.stream(core_call()).await.unwrap();
    assert!(!model.cancel.is_cancelled());
    drop(stream);
    assert!(model.cancel.is_cancelled());
    // Also while it waits for the first text, and before it is polled at all.
    let mut model = Scripted::new(Ok(vec![]));
    model.hangs = true;
    let (adapter, model) = self::adapter(model);
    drop(adapter.stream(core_call()));
    tokio::time::timeout(LONG, model.cancel.cancelled()).await.unwrap();
}

fn begins(index: u32, name: &str) -> GenerateEvent {
    GenerateEvent::Call { index, name: name.to_owned() }
}

fn arguments(index: u32, json: &str) -> GenerateEvent {
    GenerateEvent::Arguments { index, json: json.to_owned() }
}

/// A call for a request with two tools, changed by `change`.
fn tool_call(change: impl FnOnce(&mut ChatRequest)) -> Call {
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: Some("does".to_owned()),
        parameters: serde_json::json!({"type": "object"}),
        strict: None,
    };
    let mut request = ChatRequest {
        messages: vec![Message::text(Role::User, "do it")],
        tools: vec![tool("f"), tool("g")],
        ..ChatRequest::default()
    };
    change(&mut request);
    Call { request: Arc::new(request), ..core_call() }
}

#[tokio::test]
async fn streamed_calls_have_their_own_identifiers() {
    let script = vec![
        delta("So."),
        begins(0, "f"),
        arguments(0, "{\"a\""),
        arguments(0, ": 1}"),
        begins(1, "g"),
        arguments(1, "{}"),
        done(Finish::ToolCalls),
    ];
    let (adapter, _) = adapter(Scripted::new(Ok(script)));
    let mut ids = BTreeSet::new();
    for _ in 0..2 {
        let events: Vec<_> = adapter.stream(tool_call(|_| {})).await.unwrap().map(Result::unwrap).collect().await;
        let mut pieces = Vec::new();
        for event in &events {
            if let ChatEvent::Delta(Delta::Tool { choice: 0, call }) = event {
                if let Some(id) = &call.id {
                    let unique = id.strip_prefix("call_").unwrap();
                    assert!(unique.len() >= 24 && unique.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
                    assert!(ids.insert(id.clone()), "{id} again");
                }
                pieces.push((call.index, call.name.as_deref(), call.id.is_some(), call.arguments.as_str()));
            }
        }
        assert_eq!(
            pieces,
            [
                (0, Some("f"), true, ""),
                (0, None, false, "{\"a\""),
                (0, None, false, ": 1}"),
                (1, Some("g"), true, ""),
                (1, None, false, "{}"),
            ]
        );
        assert_eq!(events[0], ChatEvent::text("So."));
        assert_eq!(events[6], ChatEvent::Done { finish: FinishReason::ToolCalls, usage: FIGURES });
    }
    let reply = adapter.complete(tool_call(|_| {})).await.unwrap();
    let calls = &reply.first.tool_calls;
    let whole: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(whole, [("f", "{\"a\": 1}"), ("g", "{}")]);
    assert!(calls.iter().all(|call| ids.insert(call.id.clone())));
    assert_eq!((reply.first.content.as_str(), reply.first.finish), ("So.", FinishReason::ToolCalls));
}

/// Left to itself, a small model calls nothing.
#[tokio::test]
async fn a_tool_that_the_message_is_about_must_be_called() {
    let (adapter, model) = adapter(Scripted::new(Ok(vec![done(Finish::Stop)])));
    let offered = async |message: &str, format: ResponseFormat| {
        let call = tool_call(|request| {
            request.tools[1].description = Some("The weather of a city".to_owned());
            request.messages = vec![Message::text(Role::User, message)];
            request.format = format;
        });
        adapter.complete(call).await.unwrap();
        let toolbox = model.requests.lock().unwrap().pop().unwrap().tools.unwrap();
        (toolbox.choice, toolbox.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>())
    };
    let both = vec!["f".to_owned(), "g".to_owned()];
    let called = (ModelChoice::Required, vec!["g".to_owned()]);
    assert_eq!(offered("How is the weather in Ulm?", ResponseFormat::Text).await, called);
    assert_eq!(offered("Say hello.", ResponseFormat::Text).await, (ModelChoice::Auto, both.clone()));
    assert_eq!(offered("The weather as JSON.", ResponseFormat::JsonObject).await, (ModelChoice::Auto, both));
}

#[tokio::test]
async fn tools_and_earlier_calls_are_passed_on() {
    let (adapter, model) = adapter(Scripted::new(Ok(vec![done(Finish::Stop)])));
    let rows = [
        (ToolChoice::Auto, None, Some((ModelChoice::Auto, 4))),
        (ToolChoice::Required, Some(true), Some((ModelChoice::Required, 4))),
        (ToolChoice::Named("g".to_owned()), Some(false), Some((ModelChoice::Named("g".to_owned()), 1))),
        (ToolChoice::None, None, None),
    ];
    let earlier = ToolCall { id: "call_1".to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let earlier = Message { tool_calls: vec![earlier], ..Message::text(Role::Assistant, "") };
    let result = Message { tool_call_id: Some("call_1".to_owned()), ..Message::text(Role::Tool, "done") };
    for (choice, parallel, expected) in rows {
        let call = tool_call(|request| {
            request.tool_choice = choice;
            request.parallel_tool_calls = parallel;
            request.messages.extend([earlier.clone(), result.clone()]);
        });
        let reported = if expected.is_some() { 2 } else { 0 };
        // Two words of the user, one of each other message.
        assert_eq!(adapter.count_prompt(&call), Some(4 + reported));
        adapter.complete(call).await.unwrap();
        let request = model.requests.lock().unwrap().pop().unwrap();
        let tool = |name: &str| ModelTool {
            name: name.to_owned(),
            description: Some("does".to_owned()),
            parameters: serde_json::json!({"type": "object"}),
        };
        let toolbox = expected.map(|(choice, most)| Toolbox { tools: vec![tool("f"), tool("g")], choice, most });
        assert_eq!(request.tools, toolbox);
        let call = ModelCall { name: "f".to_owned(), arguments: "{}".to_owned() };
        assert_eq!(request.turns[1], ChatTurn { calls: vec![call], ..ChatTurn::text(Speaker::Assistant, "") });
        assert_eq!(request.turns[2], ChatTurn::text(Speaker::Tool, "done"));
    }
}

#[tokio::test]
async fn several_choices_form_one_response() {
    let scripts = vec![
        Ok(vec![delta("one"), done(Finish::Stop)]),
        Ok(vec![begins(0, "f"), arguments(0, "{}"), done(Finish::ToolCalls)]),
        Ok(vec![delta("thr"), delta("ee"), done(Finish::Length)]),
    ];
    let (adapter, model) = adapter(Scripted::several(scripts));
    let three = || {
        tool_call(|request| {
            request.n = 3;
            request.sampling.seed = Some(i64::from(u32::MAX) - 1);
        })
    };
    let reply = adapter.complete(three()).await.unwrap();
    let seeds: Vec<_> = model.requests.lock().unwrap().iter().map(|request| request.seed).collect();
    assert_eq!(seeds, [Some(u32::MAX - 1), Some(u32::MAX), Some(0)]);
    assert_eq!(reply.first, Choice::text("one", FinishReason::Stop));
    assert_eq!((reply.more[0].finish, reply.more[0].tool_calls[0].name.as_str()), (FinishReason::ToolCalls, "f"));
    assert_eq!(reply.more[1], Choice::text("three", FinishReason::Length));
    // Five prompt tokens, read once for all; two generated by each answer.
    let figures = Some(Usage { prompt_tokens: 5, completion_tokens: 6, estimated: false });
    assert_eq!((reply.usage, reply.more.len()), (figures, 2));

    let events: Vec<_> = adapter.stream(three()).await.unwrap().map(Result::unwrap).collect().await;
    let of = |wanted: u32| -> Vec<_> {
        let choice = |event: &&ChatEvent| match event {
            ChatEvent::Delta(
                Delta::Text { choice, .. } | Delta::Tool { choice, .. } | Delta::Finish { choice, .. },
            ) => *choice == wanted,
            _ => false,
        };
        events.iter().filter(choice).cloned().collect()
    };
    let ends = |choice, finish| ChatEvent::Delta(Delta::Finish { choice, finish });
    assert_eq!(of(0), [ChatEvent::text("one")]);
    let call = ToolDelta { index: 0, arguments: "{}".to_owned(), ..ToolDelta::default() };
    assert_eq!(of(1)[1..], [ChatEvent::Delta(Delta::Tool { choice: 1, call }), ends(1, FinishReason::ToolCalls)]);
    let piece = |text: &str| ChatEvent::Delta(Delta::Text { choice: 2, text: text.to_owned() });
    assert_eq!(of(2), [piece("thr"), piece("ee"), ends(2, FinishReason::Length)]);
    assert_eq!(events.last(), Some(&ChatEvent::Done { finish: FinishReason::Stop, usage: figures }));
}

#[tokio::test]
async fn several_choices_are_admitted_together_or_not_at_all() {
    let busy = ModelError::Busy { retry_after: Duration::from_secs(7) };
    let mut model = Scripted::several(vec![Ok(vec![delta("a")]), Err(busy)]);
    model.hangs = true;
    let (adapter, model) = adapter(model);
    let fault = adapter.stream(tool_call(|request| request.n = 2)).await.err().unwrap();
    assert_eq!((fault.class, fault.retry_after), (FaultClass::Transient, Some(Duration::from_secs(7))));
    assert!(model.cancel.is_cancelled(), "the first one goes on for nobody");
}

#[tokio::test]
async fn one_broken_choice_breaks_the_response() {
    let failed = GenerateEvent::Failed(ModelError::Failed { why: "it broke".into() });
    let scripts = || vec![Ok(vec![delta("a"), done(Finish::Stop)]), Ok(vec![delta("b"), failed.clone()])];
    let (adapter, _) = adapter(Scripted::several(scripts()));
    let two = || tool_call(|request| request.n = 2);
    assert!(adapter.complete(two()).await.is_err());
    let events: Vec<_> = adapter.stream(two()).await.unwrap().collect().await;
    let fault = events.last().unwrap().clone().unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::BetweenDeltas));
    assert!(events[..events.len() - 1].iter().all(|event| matches!(event, Ok(ChatEvent::Delta(_)))));
}

#[tokio::test]
async fn images_are_rejected_without_a_call() {
    let (adapter, model) = adapter(Scripted::new(Ok(vec![done(Finish::Stop)])));
    let image = Image { source: ImageSource::Url("https://example.org/cat.png".to_owned()), detail: None };
    let look = tool_call(|request| request.messages[0].content = Content::Parts(vec![ContentPart::Image(image)]));
    let fault = adapter.complete(look).await.unwrap_err();
    assert_eq!((fault.client, fault.param.as_deref()), (Some(ClientFault::Unsupported), Some("messages")));
    assert!(model.requests.lock().unwrap().is_empty());
}
