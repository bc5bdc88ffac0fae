//! Runs a task to its end as the task actor would, step by step, with redirects.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentExecutor, AgentOptions, Agents, Models};
use crate::engine::EngineRunner;
use crate::task::{
    FinishedStep, Instruction, NextAction, Owner, StepError, StepEvent, StepKey, StepRequest, StepSink, TaskExecutor,
    TaskView, Usage, Waiting,
};
use muster_core::Millis;

/// More steps than any task may have.
const MAX_STEPS: usize = 64;

/// Outcome of a task.
#[derive(Debug)]
pub(super) enum End {
    Done(Value),
    Waits(Waiting),
    Failed(StepError),
}

#[derive(Debug)]
pub(super) struct Driver {
    pub(super) executor: AgentExecutor,
    pub(super) view: TaskView,
    /// Names of the executed steps.
    pub(super) steps: Vec<String>,
    pub(super) usage: Usage,
    /// Streamed text, and the log.
    pub(super) streamed: String,
    pub(super) attempt: u32,
}

impl Driver {
    pub(super) fn new(
        agents: Agents,
        engines: &Arc<impl EngineRunner + 'static>,
        models: impl Models + 'static,
        options: AgentOptions,
    ) -> Self {
        let engines: Arc<dyn EngineRunner> = engines.clone();
        let executor = AgentExecutor::new(agents, engines, Arc::new(models), options);
        let view = TaskView {
            task_id: "task_1".to_owned(),
            agent: String::new(),
            task: String::new(),
            params: Value::Null,
            owner: Owner { id: "key_1".to_owned(), budget_nanos: Some(5_000), payer: None },
            created_at: Millis::parse_rfc3339("2026-11-21T03:00:00Z").unwrap(),
            revision: 0,
            instructions: Vec::new(),
            done: Vec::new(),
        };
        Self { executor, view, steps: Vec::new(), usage: Usage::default(), streamed: String::new(), attempt: 1 }
    }

    /// Admits a task.
    pub(super) fn start(mut self, agent: &str, task: &str, params: Value) -> Self {
        let admission = self.executor.admit(agent, task, params).unwrap();
        (self.view.agent, self.view.task, self.view.params) = (agent.to_owned(), task.to_owned(), admission.params);
        self
    }

    /// Applies an instruction now.
    pub(super) fn redirect(&mut self, text: &str) {
        self.view.revision += 1;
        self.view.instructions.push(Instruction {
            request_id: format!("r{}", self.view.revision),
            text: text.to_owned(),
            at: self.view.created_at,
            revision: self.view.revision,
            joined_after: Some(u32::try_from(self.view.done.len()).unwrap()),
        });
    }

    /// Reassigns the task to another agent.
    pub(super) fn reassign(&mut self, agent: &str, text: &str) {
        self.view.agent = agent.to_owned();
        self.redirect(text);
    }

    /// Runs a number of steps; `None` if the task ended or waits earlier.
    pub(super) async fn steps(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            if self.step().await.is_some() {
                return None;
            }
        }
        Some(())
    }

    pub(super) async fn end(&mut self) -> End {
        for _ in 0..MAX_STEPS {
            if let Some(end) = self.step().await {
                return end;
            }
        }
        panic!("no end after {MAX_STEPS} steps: {:?}", self.steps);
    }

    pub(super) async fn result(&mut self) -> Value {
        match self.end().await {
            End::Done(result) => result,
            other => panic!("{other:?} after {:?}", self.steps),
        }
    }

    async fn step(&mut self) -> Option<End> {
        let next = match self.executor.next(&self.view) {
            Ok(next) => next,
            Err(error) => return Some(End::Failed(error)),
        };
        assert_eq!(self.executor.next(&self.view).as_ref(), Ok(&next), "the same view, another step");
        let spec = match next {
            NextAction::Step(spec) => spec,
            NextAction::Done(result) => return Some(End::Done(result)),
            NextAction::Wait(waiting) => return Some(End::Waits(waiting)),
        };
        let index = u32::try_from(self.view.done.len()).unwrap();
        let (name, kind) = (spec.name.clone(), spec.kind);
        let key = StepKey { task_id: self.view.task_id.clone(), revision: self.view.revision, index };
        let request = StepRequest { key, attempt: self.attempt, spec, view: Arc::new(self.view.clone()) };
        let streamed: Arc<Mutex<String>> = Arc::default();
        let receiver = Arc::clone(&streamed);
        let sink = StepSink::new(CancellationToken::new(), move |event| {
            if let StepEvent::Delta(text) = event {
                receiver.lock().unwrap().push_str(text);
            }
        });
        let done = self.executor.run(request, sink).await;
        self.streamed.push_str(&streamed.lock().unwrap());
        match done {
            Ok(output) => {
                self.usage.prompt += output.usage.prompt;
                self.usage.completion += output.usage.completion;
                self.usage.cost_nanos += output.usage.cost_nanos;
                self.steps.push(name.clone());
                let (revision, output) = (self.view.revision, Arc::new(output.value));
                self.view.done.push(FinishedStep { index, name, kind, revision, output });
                None
            }
            Err(error) => Some(End::Failed(error)),
        }
    }
}
