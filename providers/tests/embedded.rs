//! The adapter of the model in this process, over a model that says what a test tells it to.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use muster_models::{
    ChatModel, Finish, Format, GenerateEvent, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats,
    Role as Speaker, Status, TokenUsage, Turn,
};
use muster_providers::{
    Adapter, Call, ChatEvent, ChatRequest, ClientFault, EmbeddedAdapter, FaultClass, FinishReason, Message, Phase,
    ResponseFormat, Role, Sampling, Usage,
};
use support::{LONG, SHORT, call, call_within};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Says `script` to whoever asks; without a script it refuses.
#[derive(Debug)]
struct Scripted {
    answer: Result<Vec<GenerateEvent>, ModelError>,
    /// Keeps the line open after the script, as an engine does that is stuck or at work.
    hangs: bool,
    asked: Mutex<Vec<GenerateRequest>>,
    open: Mutex<Vec<mpsc::Sender<GenerateEvent>>>,
    cancel: CancellationToken,
}

impl Scripted {
    fn new(answer: Result<Vec<GenerateEvent>, ModelError>) -> Self {
        Self { answer, hangs: false, asked: Mutex::default(), open: Mutex::default(), cancel: CancellationToken::new() }
    }
}

impl ChatModel for Scripted {
    fn info(&self) -> ModelInfo {
        ModelInfo { id: "scripted".to_owned(), name: "Scripted".to_owned(), context: 4096, max_tokens: 1024 }
    }

    fn status(&self) -> Status {
        Status::Ready
    }

    fn stats(&self) -> ModelStats {
        ModelStats::default()
    }

    fn count(&self, turns: &[Turn]) -> Option<u32> {
        turns.iter().map(|turn| self.count_text(&turn.content)).sum()
    }

    fn count_text(&self, text: &str) -> Option<u32> {
        u32::try_from(text.split(' ').count()).ok()
    }

    fn generate(&self, request: GenerateRequest) -> Result<Generation, ModelError> {
        self.asked.lock().unwrap().push(request);
        let events = self.answer.clone()?;
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
async fn an_answer_streams_and_adds_up() {
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
async fn an_empty_answer_is_an_answer() {
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
    let asked = model.asked.lock().unwrap();
    let turn = |role, content: &str| Turn { role, content: content.to_owned() };
    assert_eq!(
        asked[0],
        GenerateRequest {
            turns: vec![
                turn(Speaker::System, "d"),
                turn(Speaker::System, "s"),
                turn(Speaker::User, "u"),
                turn(Speaker::Assistant, "a"),
                turn(Speaker::Tool, "t"),
            ],
            // The model's own bound.
            max_tokens: 1024,
            temperature: 0.2,
            top_p: 0.9,
            presence_penalty: 0.5,
            frequency_penalty: -0.5,
            seed: Some(42),
            stop: vec!["END".to_owned()],
            format: Format::JsonSchema(schema),
        }
    );
    // Contract 2: temperature 0.7 where nothing is said.
    assert_eq!((asked[1].temperature, asked[1].top_p, asked[1].seed), (0.7, 1.0, None));
    assert_eq!((asked[1].max_tokens, &asked[1].format), (1024, &Format::Text));
}

#[tokio::test]
async fn each_refusal_has_its_class() {
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
            ModelError::Unsupported { field: "response_format", why: "too deep".into() },
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
async fn a_break_is_hidden_before_the_first_text_and_told_after_it() {
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
async fn a_stuck_engine_runs_into_the_bound_and_is_cancelled() {
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
    // Also while it waits for the first text, and before anyone has asked for it at all.
    let mut model = Scripted::new(Ok(vec![]));
    model.hangs = true;
    let (adapter, model) = self::adapter(model);
    drop(adapter.stream(core_call()));
    tokio::time::timeout(LONG, model.cancel.cancelled()).await.unwrap();
}
