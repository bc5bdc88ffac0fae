//! Adapter of the in-process embedding model, over a scripted model.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use muster_models::{
    ChatModel, EmbedError, EmbedFuture, EmbedInfo, EmbedModel, EmbedStats, Embeddings, LocalModel, ModelOptions,
    ModelStatus, Selection,
};
use muster_providers::{
    Adapter, ClientFault, EmbedCall, EmbedInput, EmbedRequest, EmbeddedAdapter, FaultClass, Phase, QUEUE_TIMEOUT,
    Timeouts, Usage,
};
use tokio::sync::{oneshot, watch};

/// Returns `answer`, or never completes without one.
#[derive(Debug)]
struct Scripted {
    answer: Option<Result<Embeddings, EmbedError>>,
    requests: Mutex<Vec<Vec<String>>>,
    /// Requests that never complete.
    waiting: Mutex<Vec<oneshot::Sender<()>>>,
}

impl Scripted {
    fn new(answer: Option<Result<Embeddings, EmbedError>>) -> Arc<Self> {
        Arc::new(Self { answer, requests: Mutex::default(), waiting: Mutex::default() })
    }
}

impl EmbedModel for Scripted {
    fn info(&self) -> EmbedInfo {
        let (id, name, sha256) = ("scripted".to_owned(), "Scripted".to_owned(), "0".repeat(64));
        EmbedInfo { id, name, dimensions: 2, max_tokens: 256, sha256 }
    }

    fn status(&self) -> ModelStatus {
        ModelStatus::Ready
    }

    fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        watch::Sender::new(ModelStatus::Ready).subscribe()
    }

    fn stats(&self) -> EmbedStats {
        EmbedStats::default()
    }

    fn embed(&self, texts: Vec<String>) -> EmbedFuture {
        self.requests.lock().unwrap().push(texts);
        let answer = self.answer.clone();
        let (sender, receiver) = oneshot::channel::<()>();
        self.waiting.lock().unwrap().push(sender);
        Box::pin(async move {
            if answer.is_none() {
                let _ = receiver.await;
            }
            answer.unwrap()
        })
    }
}

fn chat() -> Arc<dyn ChatModel> {
    LocalModel::start(ModelOptions { selection: Selection::None, ..ModelOptions::default() })
}

fn adapter(model: &Arc<Scripted>) -> EmbeddedAdapter {
    EmbeddedAdapter::new(chat()).with_embeddings(model.clone())
}

fn call(inputs: Vec<EmbedInput>, dimensions: Option<u32>) -> EmbedCall {
    let second = Duration::from_secs(1);
    EmbedCall {
        upstream_model: "muster-embed".to_owned(),
        request: Arc::new(EmbedRequest { inputs, dimensions, user: None }),
        timeouts: Timeouts { connect: second, headers: second, first_delta: second, between_deltas: second },
        request_id: "r".to_owned(),
        traceparent: None,
    }
}

fn text(text: &str) -> EmbedInput {
    EmbedInput::Text(text.to_owned())
}

fn embeddings() -> Embeddings {
    Embeddings { vectors: vec![vec![0.6, 0.8], vec![1.0, 0.0]], tokens: vec![3, 5] }
}

#[tokio::test]
async fn vectors_are_returned_in_order_with_the_token_count() {
    let model = Scripted::new(Some(Ok(embeddings())));
    for dimensions in [None, Some(2)] {
        let reply = adapter(&model).embed(call(vec![text("a"), text("b")], dimensions)).await.unwrap();
        assert_eq!((reply.vectors, reply.model.as_str()), (embeddings().vectors, "muster-embed"));
        assert_eq!(reply.usage, Some(Usage { prompt_tokens: 8, completion_tokens: 0, estimated: false }));
    }
    assert_eq!(*model.requests.lock().unwrap(), [["a", "b"], ["a", "b"]]);
}

#[tokio::test]
async fn unsupported_fields_are_reported_without_calling_the_model() {
    let model = Scripted::new(Some(Ok(embeddings())));
    for (inputs, dimensions, param) in [
        (vec![text("a"), EmbedInput::Tokens(vec![1, 2])], None, "input"),
        (vec![text("a")], Some(1), "dimensions"),
        (vec![text("a")], Some(3), "dimensions"),
    ] {
        let fault = adapter(&model).embed(call(inputs, dimensions)).await.unwrap_err();
        assert_eq!((fault.class, fault.client), (FaultClass::Client, Some(ClientFault::Unsupported)));
        assert_eq!(fault.param.as_deref(), Some(param));
    }
    assert!(model.requests.lock().unwrap().is_empty());
    let without = EmbeddedAdapter::new(chat()).embed(call(vec![text("a")], None)).await.unwrap_err();
    assert_eq!((without.client, without.param.as_deref()), (Some(ClientFault::Unsupported), Some("model")));
}

#[tokio::test]
async fn each_rejection_has_its_class() {
    let minute = Duration::from_secs(60);
    let long = EmbedError::TooLong { index: 3, tokens: 257, most: 256 };
    let transient = |error: EmbedError, waits: bool| (error, FaultClass::Transient, None, waits);
    let client = |error: EmbedError, kind: ClientFault| (error, FaultClass::Client, Some(kind), false);
    for (error, class, kind, waits) in [
        transient(EmbedError::Absent { mend: "make models".into() }, true),
        transient(EmbedError::Loading { percent: 50 }, true),
        transient(EmbedError::Busy { retry_after: minute }, true),
        transient(EmbedError::Failed { why: "it broke".into() }, false),
        client(long.clone(), ClientFault::ContextLengthExceeded),
        client(EmbedError::TooMany { texts: 9, most: 8 }, ClientFault::InvalidRequest),
    ] {
        let model = Scripted::new(Some(Err(error.clone())));
        let fault = adapter(&model).embed(call(vec![text("a")], None)).await.unwrap_err();
        assert_eq!((fault.class, fault.client, fault.retry_after.is_some()), (class, kind, waits), "{error}");
        // Not ready is not broken: Connect, without a status.
        assert_eq!((fault.phase, fault.status, fault.message), (Phase::Connect, None, error.to_string()));
        assert_eq!(fault.param.as_deref(), kind.map(|_| "input"));
        if matches!(error, EmbedError::Busy { .. }) {
            assert_eq!(fault.retry_after, Some(minute));
        }
    }
    assert!(long.to_string().contains("input 3"));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_responds_is_cancelled_at_the_time_limit() {
    let model = Scripted::new(None);
    let begin = tokio::time::Instant::now();
    let fault = adapter(&model).embed(call(vec![text("a")], None)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Body));
    assert_eq!(begin.elapsed().as_secs(), (QUEUE_TIMEOUT + Duration::from_secs(1)).as_secs());
    assert!(model.waiting.lock().unwrap().iter().all(oneshot::Sender::is_closed));
}
