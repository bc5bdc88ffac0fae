//! Helpers: start the small model, send requests and read answers.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use muster_models::{
    ChatModel, ChatTurn, Finish, Format, GenerateEvent, GenerateRequest, Generation, LocalModel, Manifest, ModelError,
    ModelOptions, ModelStatus, Role, Selection, TokenUsage,
};

/// Far longer than any answer of these tests on a slow machine, so that a hang becomes a failure.
const TIMEOUT: Duration = Duration::from_secs(240);

/// The folder of the model files.
pub(crate) fn models_dir() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache");
    std::env::var_os("MUSTER_MODELS_DIR").map_or(default, PathBuf::from)
}

/// Returns whether a model's file is present; prints how to get it if not.
pub(crate) fn installed(id: &str) -> bool {
    let manifest = Manifest::embedded().unwrap();
    let present = manifest.get(id).unwrap().path(&models_dir()).is_file();
    if !present {
        eprintln!("skipped: the model `{id}` is not there; run `make models`");
    }
    present
}

pub(crate) fn options(id: &str) -> ModelOptions {
    ModelOptions {
        selection: Selection::Id(id.to_owned()),
        cache_dir: models_dir(),
        // Tests run in parallel: more threads than cores would only wait for one another.
        threads: 1,
        context_per_slot: 1024,
        ..ModelOptions::default()
    }
}

/// Starts a model and waits until it is ready.
pub(crate) async fn start(options: ModelOptions) -> Arc<LocalModel> {
    let model = LocalModel::start(options);
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
    model
}

/// Waits for the status; fails at once if it can no longer be reached.
pub(crate) async fn wait_for(model: &LocalModel, matches: impl Fn(&ModelStatus) -> bool) -> ModelStatus {
    let mut changes = model.watch_status();
    let waiting = async {
        loop {
            let status = changes.borrow_and_update().clone();
            if matches(&status) {
                return status;
            }
            let loading = matches!(status, ModelStatus::Loading { .. } | ModelStatus::Ready);
            assert!(loading, "the status became {status:?}");
            changes.changed().await.expect("the model lives");
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.expect("the wanted status in time")
}

pub(crate) fn user(content: &str) -> Vec<ChatTurn> {
    vec![ChatTurn::text(Role::User, content)]
}

/// A greedy request.
pub(crate) fn request_of(content: &str, max_tokens: u32) -> GenerateRequest {
    GenerateRequest {
        turns: user(content),
        max_tokens,
        temperature: 0.0,
        top_p: 1.0,
        presence_penalty: 0.0,
        frequency_penalty: 0.0,
        seed: None,
        stop: Vec::new(),
        format: Format::Text,
        tools: None,
    }
}

/// A request whose answer is certainly long: only digits match the schema, and many are requested.
pub(crate) fn endless(max_tokens: u32) -> GenerateRequest {
    let schema = serde_json::json!({"type": "array", "items": {"type": "integer"}, "minItems": 1500});
    GenerateRequest { format: Format::JsonSchema(schema), ..request_of("Count.", max_tokens) }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Names and arguments.
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) deltas: usize,
    pub(crate) finish: Finish,
    pub(crate) usage: TokenUsage,
}

pub(crate) async fn next(generation: &mut Generation) -> Option<GenerateEvent> {
    tokio::time::timeout(TIMEOUT, generation.events.recv()).await.expect("an event in time")
}

/// Reads to the end.
pub(crate) async fn read(mut generation: Generation) -> Result<Answer, ModelError> {
    let (mut text, mut calls, mut deltas) = (String::new(), Vec::<(String, String)>::new(), 0);
    loop {
        match next(&mut generation).await.expect("an end before the channel closes") {
            GenerateEvent::Delta(more) => {
                assert!(!more.is_empty(), "an empty delta");
                text.push_str(&more);
                deltas += 1;
            }
            GenerateEvent::Call { index, name } => {
                assert_eq!(usize::try_from(index).unwrap(), calls.len(), "calls are numbered in order");
                calls.push((name, String::new()));
            }
            GenerateEvent::Arguments { index, json } => {
                assert!(!json.is_empty(), "an empty piece of arguments");
                assert_eq!(usize::try_from(index).unwrap() + 1, calls.len(), "arguments follow their own call");
                calls.last_mut().unwrap().1.push_str(&json);
                deltas += 1;
            }
            GenerateEvent::Done { finish, usage } => {
                assert_eq!(next(&mut generation).await, None, "nothing comes after the end");
                return Ok(Answer { text, calls, deltas, finish, usage });
            }
            GenerateEvent::Failed(error) => return Err(error),
        }
    }
}

pub(crate) async fn answer(model: &LocalModel, request: GenerateRequest) -> Answer {
    read(model.generate(request).unwrap()).await.unwrap()
}
