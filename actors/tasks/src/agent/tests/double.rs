//! Scripted engines and models that record their calls.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, ready};
use futures::{FutureExt, StreamExt, stream};
use muster_engines::Context;
use muster_engines::grammar::Field;
use muster_providers::{ChatEvent, Delta, FinishReason, ToolDelta, Usage};
use serde_json::{Value, json};

use super::sample;
use crate::agent::{ModelStream, Models, SettleCallback};
use crate::engine::{EngineAnswer, EngineCall, EngineCaller, EngineRunner};
use muster_core::{Error, Kind};
use muster_gateway::{ChainError, GatewayChatRequest, Settlement, StreamEnd};

type Answers = HashMap<&'static str, VecDeque<Result<Value, Error>>>;

/// Returns scripted outputs, or a sample for other calls. Rejects the input that the engine would reject.
#[derive(Debug, Default)]
pub(super) struct ScriptedEngines {
    answers: Mutex<Answers>,
    calls: Mutex<Vec<(&'static str, Value)>>,
    last_caller: Mutex<Option<EngineCaller>>,
    /// Files of the workspace.
    files: HashMap<&'static str, &'static str>,
}

impl ScriptedEngines {
    pub(super) fn with_answer(self, engine: &'static str, answer: Result<Value, Error>) -> Self {
        self.answers.lock().unwrap().entry(engine).or_default().push_back(answer);
        self
    }

    pub(super) fn with_file(mut self, path: &'static str, content: &'static str) -> Self {
        self.files.insert(path, content);
        self
    }

    /// Calls of engines in order, with their inputs.
    pub(super) fn calls(&self) -> Vec<(&'static str, Value)> {
        self.calls.lock().unwrap().clone()
    }

    pub(super) fn called_ids(&self) -> Vec<&'static str> {
        self.calls().into_iter().map(|(engine, _)| engine).collect()
    }

    /// On whose behalf the last call was made.
    pub(super) fn last_caller(&self) -> Option<EngineCaller> {
        self.last_caller.lock().unwrap().clone()
    }

    fn run_scripted(&self, call: EngineCall) -> Result<EngineAnswer, Error> {
        self.calls.lock().unwrap().push((call.engine.id, call.input.clone()));
        *self.last_caller.lock().unwrap() = Some(call.caller);
        // What a program of a plan returns is an input of other steps.
        let program = (call.engine.id == "json-transform").then(|| {
            let engine = muster_engines::by_id(call.engine.id)?;
            let output = engine.run(call.input.clone(), &Context::default()).ok()?;
            let found = output["results"].as_array().is_some_and(|results| !results.is_empty());
            Some(if found { output } else { json!({ "results": ["text", "text"], "count": 2 }) })
        });
        let program = program.flatten();
        call.engine.accept(call.input).map_err(refused)?;
        let scripted = self.answers.lock().unwrap().get_mut(call.engine.id).and_then(VecDeque::pop_front);
        let sampled = |field: &Field| match (sample(&field.kind), field.range.most) {
            // A temperature that all engines accept, and people enough for the load of the samples.
            (Value::Number(_), _) if field.unit == "degC" => json!(12.0),
            (Value::Number(_), _) if field.name == "servers" => json!(30),
            (Value::Number(number), Some(most)) if number.as_f64().is_some_and(|number| number > most) => json!(most),
            (value, _) => value,
        };
        let outputs = || call.engine.fields().outputs.iter().map(|field| (field.name.clone(), sampled(field)));
        let output = match (scripted, program) {
            (Some(scripted), _) => scripted?,
            (None, Some(output)) => output,
            (None, None) => Value::Object(outputs().collect()),
        };
        Ok(EngineAnswer { output, took: Duration::from_millis(2), ..EngineAnswer::default() })
    }
}

impl EngineRunner for ScriptedEngines {
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>> {
        ready(self.run_scripted(call)).boxed()
    }

    fn workspace_file(&self, path: String, _: EngineCaller) -> BoxFuture<'static, Result<Vec<u8>, Error>> {
        let found = self.files.get(path.as_str()).map(|content| content.as_bytes().to_vec());
        ready(found.ok_or_else(|| Error::new(Kind::NotFound, format!("there is no file {path}")))).boxed()
    }
}

/// An answer of a model.
#[derive(Debug, Clone)]
pub(super) enum ModelReply {
    /// Text, followed by tool calls by name and arguments.
    Turn(&'static str, Vec<(&'static str, String)>),
    Text(String),
    /// Rejected before it began.
    Refuse(Error),
    /// Fails after this text.
    Break(&'static str),
}

impl ModelReply {
    pub(super) fn call(tool: &'static str, arguments: &Value) -> Self {
        Self::Turn("", vec![(tool, arguments.to_string())])
    }

    pub(super) fn finish() -> Self {
        Self::call("finish", &json!({}))
    }
}

#[derive(Debug, Default)]
struct ScriptState {
    script: Mutex<VecDeque<ModelReply>>,
    requests: Mutex<Vec<GatewayChatRequest>>,
}

/// A model with support for tool calls that follows a script. Each answer uses 100 prompt tokens and 10 completion
/// tokens, and costs 7 billionths of a US dollar.
#[derive(Debug, Clone, Default)]
pub(super) struct ScriptedModel(Arc<ScriptState>);

impl ScriptedModel {
    pub(super) fn replying(script: impl IntoIterator<Item = ModelReply>) -> Self {
        let scripted = Self::default();
        scripted.0.script.lock().unwrap().extend(script);
        scripted
    }

    pub(super) fn requests(&self) -> Vec<GatewayChatRequest> {
        self.0.requests.lock().unwrap().clone()
    }

    fn next(&self) -> ModelReply {
        self.0.script.lock().unwrap().pop_front().unwrap_or_else(ModelReply::finish)
    }
}

const USED: Usage = Usage { prompt_tokens: 100, completion_tokens: 10, estimated: false };

fn settlement(end: StreamEnd) -> Settlement {
    Settlement {
        end,
        usage: USED,
        cost_nanos: Some(7),
        provider_id: Some("far".to_owned()),
        model_id: Some("far-1".to_owned()),
        latency: Duration::ZERO,
    }
}

impl Models for ScriptedModel {
    fn planner(&self) -> Option<String> {
        Some("far-1".to_owned())
    }

    fn stream(
        &self,
        request: GatewayChatRequest,
        settle: SettleCallback,
    ) -> BoxFuture<'static, Result<ModelStream, ChainError>> {
        self.0.requests.lock().unwrap().push(request);
        let reply = self.next();
        async move {
            let mut events: Vec<Result<ChatEvent, Error>> = Vec::new();
            let mut text = |text: &str| {
                events.extend(text.split_inclusive(' ').map(|word| Ok(ChatEvent::text(word))));
            };
            let done = Ok(ChatEvent::Done { finish: FinishReason::Stop, usage: Some(USED) });
            match reply {
                ModelReply::Refuse(error) => {
                    settle(Settlement { usage: Usage::default(), cost_nanos: None, ..settlement(StreamEnd::Failed) });
                    return Err(ChainError { error, attempts: Vec::new() });
                }
                ModelReply::Break(words) => {
                    text(words);
                    settle(settlement(StreamEnd::Failed));
                    events.push(Err(Error::new(Kind::ProviderFailed, "far broke off its answer")));
                }
                ModelReply::Text(words) => {
                    text(&words);
                    settle(settlement(StreamEnd::Done));
                    events.push(done);
                }
                ModelReply::Turn(words, calls) => {
                    text(words);
                    for (index, (name, arguments)) in calls.into_iter().enumerate() {
                        let index = u32::try_from(index).unwrap();
                        let (first, rest) = arguments.split_at(arguments.len() / 2);
                        let piece = |call| Ok(ChatEvent::Delta(Delta::Tool { choice: 0, call }));
                        let (id, name) = (Some(format!("id{index}")), Some(name.to_owned()));
                        events.push(piece(ToolDelta { index, id, name, arguments: first.to_owned() }));
                        events.push(piece(ToolDelta { index, id: None, name: None, arguments: rest.to_owned() }));
                    }
                    settle(settlement(StreamEnd::Done));
                    events.push(done);
                }
            }
            let (model_id, provider_id) = ("far-1".to_owned(), "far".to_owned());
            Ok(ModelStream { model_id, provider_id, events: stream::iter(events).boxed() })
        }
        .boxed()
    }
}

fn refused(failure: muster_engines::Failure) -> Error {
    Error::new(Kind::Invalid, format!("{failure}: {failure:?}"))
}

/// A model that looks for params and does not plan.
#[derive(Debug)]
pub(super) struct Filler(pub(super) ScriptedModel);

impl Models for Filler {
    fn planner(&self) -> Option<String> {
        None
    }

    fn filler(&self) -> Option<String> {
        Some("far-1".to_owned())
    }

    fn stream(
        &self,
        request: GatewayChatRequest,
        settle: SettleCallback,
    ) -> BoxFuture<'static, Result<ModelStream, ChainError>> {
        self.0.stream(request, settle)
    }
}

/// No models: agents follow their plans.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NoModels;

impl Models for NoModels {
    fn planner(&self) -> Option<String> {
        None
    }

    fn stream(&self, _: GatewayChatRequest, _: SettleCallback) -> BoxFuture<'static, Result<ModelStream, ChainError>> {
        let error = Error::new(Kind::ModelUnconfigured, "no model is configured for agents");
        ready(Err(ChainError { error, attempts: Vec::new() })).boxed()
    }
}
