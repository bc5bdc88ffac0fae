//! TaskExecutor scripted by a task's params.

use std::sync::Mutex;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::task::*;
use muster_core::{Error, Kind};

/// Steps are `{"do": …}`: `ok` returns its index; `hang` never ends; `sleep` takes `ms`; `gate` waits for
/// [`Script::open`]; `fail` fails `times` times, with `after` milliseconds if given; `stream` writes its `text` and
/// hangs; `panic` panics; `wait` waits for input. `once` marks a step that may not be repeated. An instruction `stop`
/// ends the plan, any other adds a step that returns it.
#[derive(Debug, Default, Clone)]
pub(super) struct Script(std::sync::Arc<ScriptState>);

#[derive(Debug, Default)]
struct ScriptState {
    /// Keys and attempts, as steps began.
    begun: Mutex<Vec<(String, u32)>>,
    /// Keys, as steps were dropped before their end.
    dropped: Mutex<Vec<String>>,
    gate: Notify,
}

/// Records that a step was dropped.
struct Guard<'a> {
    script: &'a Script,
    key: Option<String>,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.script.0.dropped.lock().unwrap().push(key);
        }
    }
}

impl Script {
    /// Releases one `gate`.
    pub(super) fn open(&self) {
        self.0.gate.notify_one();
    }

    pub(super) fn begun(&self) -> Vec<(String, u32)> {
        self.0.begun.lock().unwrap().clone()
    }

    pub(super) fn dropped(&self) -> Vec<String> {
        self.0.dropped.lock().unwrap().clone()
    }

    async fn perform(&self, request: &StepRequest, sink: &StepSink) -> Result<StepOutput, StepError> {
        let step = &request.spec.input;
        let ms = |field: &str| step[field].as_u64().map(Duration::from_millis);
        match step["do"].as_str().unwrap_or_default() {
            "sleep" => {
                let ended = std::future::pending::<()>();
                tokio::time::timeout(ms("ms").unwrap_or_default(), ended).await.unwrap_or_default();
            }
            "gate" => self.0.gate.notified().await,
            "hang" => std::future::pending().await,
            "stream" => {
                sink.delta(step["text"].as_str().unwrap_or_default());
                sink.log(Level::Info, "wrote");
                std::future::pending().await
            }
            "panic" => panic!("a step's own"),
            "fail" if u64::from(request.attempt) <= step["times"].as_u64().unwrap_or(u64::MAX) => {
                let retry = match (step["never"].as_bool(), ms("after")) {
                    (Some(true), _) => Retry::Never,
                    (_, Some(after)) => Retry::After(after),
                    _ => Retry::Soon,
                };
                let usage = Usage { prompt: 1, ..Usage::default() };
                return Err(StepError { usage, ..StepError::new("AGENT_EXECUTION_ERROR", "scripted", retry) });
            }
            _ => {}
        }
        let usage = Usage { prompt: 3, completion: 2, cost_nanos: 5 };
        Ok(StepOutput { value: json!({ "n": request.key.index, "echo": step["echo"] }), usage })
    }
}

impl TaskExecutor for Script {
    fn admit(&self, agent: &str, _: &str, params: Value) -> Result<Admission, Error> {
        let total = params["steps"].as_array().map(|steps| steps.len() as u32);
        match agent {
            "script" | "other" => Ok(Admission { params, default_seconds: 7, total_steps: total }),
            _ => Err(Error::new(Kind::NotFound, "no such agent")),
        }
    }

    fn next(&self, view: &TaskView) -> Result<NextAction, StepError> {
        let mut steps = view.params["steps"].as_array().cloned().unwrap_or_default();
        for instruction in &view.instructions {
            if instruction.text == "stop" {
                steps.clear();
            } else {
                // Inserted between the steps finished when it was applied and the remaining ones.
                let at = (instruction.joined_after.unwrap_or(0) as usize).min(steps.len());
                steps.insert(at, json!({ "do": "ok", "echo": instruction.text }));
            }
        }
        let Some(step) = steps.get(view.done.len()) else {
            let outputs: Vec<Value> = view.done.iter().map(|step| (*step.output).clone()).collect();
            return Ok(NextAction::Done(json!({ "agent": view.agent, "outputs": outputs })));
        };
        if step["do"] == "wait" {
            return Ok(NextAction::Wait(Waiting { reason: "input".to_owned(), detail: "input is needed".to_owned() }));
        }
        if step["do"] == "unplanned" {
            return Err(StepError::new("AGENT_PARAMS_MISSING", "x is missing", Retry::Never));
        }
        Ok(NextAction::Step(StepSpec {
            name: format!("step {}", view.done.len()),
            kind: StepKind::Engine,
            input: step.clone(),
            repeatable: step["once"].is_null(),
            total_steps: Some(steps.len() as u32),
        }))
    }

    fn run(&self, request: StepRequest, sink: StepSink) -> BoxFuture<'static, Result<StepOutput, StepError>> {
        let key = request.key.to_string();
        self.0.begun.lock().unwrap().push((key.clone(), request.attempt));
        let script = self.clone();
        Box::pin(async move {
            let mut guard = Guard { script: &script, key: Some(key) };
            let done = script.perform(&request, &sink).await;
            guard.key = None;
            done
        })
    }
}
