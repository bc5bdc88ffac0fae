//! Implementation of [`TaskExecutor`] for agents.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::agents::{Agent, Agents};
use super::failure::{self, PARAMS_MISSING, broken};
use super::free::{self, FreeAction, HasModel, PlanningMode};
use super::history::{self, CallRef, EngineCallOrigin, HistoryStep, digest, encode_engine_step};
use super::models::Models;
use super::parameter::{Accepted, accept, complete};
use super::steer::{SteeredParams, changes, fitting, steered_params, wanting};
use super::{files, fill, filler, needs, plan, writeup};
use crate::engine::{EngineAnswer, EngineCall, EngineCaller, EngineProgress, EngineRunner};
use crate::task::{
    Admission, Level, NextAction, StepError, StepKind, StepOutput, StepRequest, StepSink, StepSpec, TaskExecutor,
    TaskView, Usage, Waiting,
};
use muster_core::{Error, Kind};

/// Estimated seconds of a plan's step, and of a task planned by a model, until there is a history.
const SECONDS_A_STEP: u32 = 2;
const SECONDS_WITH_A_MODEL: u32 = 60;

/// Bounds of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentOptions {
    /// Maximum number of steps of a task planned by a model, without the write-up.
    pub max_steps: usize,
    /// Maximum size of an output, and of all outputs, in a prompt, in bytes.
    pub output_bytes: usize,
    /// Maximum size of all outputs in a prompt, in bytes.
    pub prompt_bytes: usize,
    /// Maximum tokens of an answer.
    pub answer_tokens: u32,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self { max_steps: 24, output_bytes: 16 * 1024, prompt_bytes: 96 * 1024, answer_tokens: 4096 }
    }
}

/// Executes the tasks of agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AgentExecutor {
    agents: Agents,
    engines: Arc<dyn EngineRunner>,
    models: Arc<dyn Models>,
    options: AgentOptions,
}

/// The operation of a step: its [`StepSpec::input`]. Its actual input is derived from the finished steps, which are
/// durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum StepOperation {
    /// A step of the plan.
    Plan {
        #[serde(rename = "as")]
        name: String,
    },
    /// A search of a model for missing params.
    FillParams,
    /// A call of the model that plans.
    #[serde(rename = "ask_model")]
    CallModel,
    /// An engine called by a model.
    Call {
        at: CallRef,
        #[serde(rename = "as")]
        name: String,
    },
    WriteUp,
}

impl TaskExecutor for AgentExecutor {
    fn admit(&self, agent: &str, task: &str, params: Value) -> Result<Admission, Error> {
        let agent = self.agents.get(agent).ok_or_else(|| unknown(agent))?;
        let mut accepted = accept(&agent.parameters, params);
        accepted.missing.extend(wanting(agent, &accepted.params));
        fill::from_text(&agent.parameters, &mut accepted, task, None);
        self.admission(agent, task, accepted)
    }

    fn readmit(&self, agent: &str, instruction: &str, task: &str, params: Value) -> Result<Admission, Error> {
        let agent = self.agents.get(agent).ok_or_else(|| unknown(agent))?;
        let mut accepted = accept(&agent.parameters, fitting(agent, &params));
        accepted.missing.extend(wanting(agent, &accepted.params));
        if changes(instruction).is_none() {
            fill::from_text(&agent.parameters, &mut accepted, instruction, None);
        }
        fill::from_text(&agent.parameters, &mut accepted, task, None);
        self.admission(agent, task, accepted)
    }

    fn next(&self, view: &TaskView) -> Result<NextAction, StepError> {
        let agent = self.agent(&view.agent)?;
        let past = history::read(view)?;
        if let Some(result) = result(agent, view, &past) {
            return Ok(NextAction::Done(result));
        }
        // A task continues in the way it began, whatever the current settings are.
        let mode = free::planning_mode(agent, &past);
        if mode == Some(PlanningMode::ByPlan) {
            return Ok(self.by_plan(agent, view, &past));
        }
        let has_model = if self.models.planner().is_some() { HasModel::Yes } else { HasModel::No };
        Ok(match (mode, has_model) {
            (None, HasModel::No) => self.by_plan(agent, view, &past),
            _ => self.freely(agent, view, &past, has_model),
        })
    }

    fn run(&self, request: StepRequest, sink: StepSink) -> BoxFuture<'static, Result<StepOutput, StepError>> {
        let executor = self.clone();
        async move { executor.step(request, sink).await }.boxed()
    }
}

impl AgentExecutor {
    /// Creates an executor for the agents of a catalogue.
    pub fn new(agents: Agents, engines: Arc<dyn EngineRunner>, models: Arc<dyn Models>, options: AgentOptions) -> Self {
        Self { agents, engines, models, options }
    }

    /// Returns the catalogue of agents.
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// Completes what was accepted. Missing params are no error: a model reads the instruction itself, and without one the
    /// task waits for them.
    fn admission(&self, agent: &Agent, task: &str, mut accepted: Accepted) -> Result<Admission, Error> {
        if !accepted.problems.is_empty() {
            return Err(invalid(accepted.problems));
        }
        complete(&agent.parameters, &mut accepted, task, "");
        let has_model = self.models.planner().is_some();
        let steps = u32::try_from(agent.plan.len()).unwrap_or(u32::MAX);
        let default_seconds = if has_model { SECONDS_WITH_A_MODEL } else { steps.saturating_mul(SECONDS_A_STEP) };
        let total_steps = if has_model { None } else { Some(self.planned(agent, task, &accepted.params)) };
        // A default that follows another param is not stored: a redirect may change that one.
        accepted.params.retain(|name, _| !accepted.derived.contains(name));
        Ok(Admission { params: Value::Object(accepted.params), default_seconds, total_steps })
    }

    fn agent(&self, id: &str) -> Result<&Arc<Agent>, StepError> {
        self.agents.get(id).ok_or_else(|| broken(format!("the agent {id:?} no longer exists on this server")))
    }

    fn by_plan(&self, agent: &Agent, view: &TaskView, past: &[HistoryStep<'_>]) -> NextAction {
        let steered = steered_params(agent, view);
        if !steered.missing.is_empty() {
            if self.models.filler().is_some() && filler::is_due(agent, view, past, &steered) {
                return spec("params", StepKind::Model, &StepOperation::FillParams, None);
            }
            let detail = needs::describe(agent, &steered.missing);
            return NextAction::Wait(Waiting { reason: "input".to_owned(), detail });
        }
        let progress = plan::progress(agent, view, past, &steered);
        let total = u32::try_from(past.len() + progress.ahead + 1).ok();
        match progress.next {
            Some(step) => {
                let operation = StepOperation::Plan { name: step.name.clone() };
                spec(&step.name, StepKind::Engine, &operation, total)
            }
            None => spec("write-up", StepKind::Writeup, &StepOperation::WriteUp, total),
        }
    }

    fn freely(&self, agent: &Agent, view: &TaskView, past: &[HistoryStep<'_>], has_model: HasModel) -> NextAction {
        match free::next(agent, view, past, self.options, has_model) {
            FreeAction::CallModel => spec("plan", StepKind::Model, &StepOperation::CallModel, None),
            FreeAction::Call { at, name } => {
                spec(&name, StepKind::Engine, &StepOperation::Call { at, name: name.clone() }, None)
            }
            FreeAction::WriteUp => {
                spec("write-up", StepKind::Writeup, &StepOperation::WriteUp, u32::try_from(past.len() + 1).ok())
            }
        }
    }

    /// Returns the number of steps of the plan, as far as the params determine it, including the write-up.
    fn planned(&self, agent: &Agent, task: &str, params: &serde_json::Map<String, Value>) -> u32 {
        let scope = super::reference::Scope { task, now: String::new(), params, outputs: Default::default() };
        let skipped = |step: &&super::agents::PlanStep| {
            let of_param = step.when.as_ref().is_some_and(|when| matches!(when.head, super::reference::Head::Param(_)));
            of_param && plan::skip_reason(step, &scope).is_some()
        };
        let steps = agent.plan.iter().filter(|step| !skipped(step)).count() + 1;
        u32::try_from(steps).unwrap_or(u32::MAX)
    }

    async fn step(&self, request: StepRequest, sink: StepSink) -> Result<StepOutput, StepError> {
        let view = Arc::clone(&request.view);
        let agent = Arc::clone(self.agent(&view.agent)?);
        let operation = StepOperation::deserialize(&request.spec.input)
            .map_err(|_| broken("the journal's step is not one of an agent: start the task again"))?;
        let steered = steered_params(&agent, &view);
        match operation {
            StepOperation::CallModel => {
                let model = self.models.planner().ok_or_else(|| {
                    StepError::new(
                        "PROVIDER_FAILED",
                        "no model that supports tool calls is available",
                        crate::task::Retry::Soon,
                    )
                })?;
                let models = Arc::clone(&self.models);
                free::call_model(&agent, &request, steered, model, models, self.options, &sink).await
            }
            StepOperation::FillParams => {
                filler::fill(&agent, &request, &steered, Arc::clone(&self.models), &sink).await
            }
            StepOperation::Plan { name } => self.plan_step(&agent, &request, &steered, &name, &sink).await,
            StepOperation::Call { at, name } => self.called(&agent, &view, at, &name, &sink).await,
            StepOperation::WriteUp => {
                let past = history::read(&view)?;
                let models = Arc::clone(&self.models);
                writeup::write(&agent, &request, &past, &steered, models, self.options, &sink).await
            }
        }
    }

    async fn plan_step(
        &self,
        agent: &Agent,
        request: &StepRequest,
        steered: &SteeredParams,
        name: &str,
        sink: &StepSink,
    ) -> Result<StepOutput, StepError> {
        let view = &request.view;
        let (engine, input, others) = {
            let past = history::read(view)?;
            let progress = plan::progress(agent, view, &past, steered);
            let step = progress.next.filter(|step| step.name == name);
            let step = step.ok_or_else(|| broken(format!("the plan of {} has no step {name} now", agent.id)))?;
            let scope = progress.scope(view, steered);
            (step.engine, plan::input(step, &scope), progress.has_others(agent, step, &scope))
        };
        let lacks =
            engine.fields().inputs.iter().find(|field| {
                field.need == muster_engines::grammar::Need::Required && input.get(&field.name).is_none()
            });
        let lacks = lacks.map(|field| {
            let detail = format!("step {name}: the value bound to its required input {} is empty", field.name);
            StepError::new(PARAMS_MISSING, detail, crate::task::Retry::Never)
        });
        let origin = EngineCallOrigin { agent: &agent.id, name, call: None };
        let input_sha256 = digest(&input);
        let caller = engine_caller(view);
        let loaded = match lacks {
            None => files::load(engine, name, input, Arc::clone(&self.engines), caller.clone()).await,
            Some(lacks) => Err(lacks),
        };
        let ran = match loaded {
            Ok(input) => self.run_engine(EngineCall::new(engine, input, caller), origin, sink).await,
            Err(failed) => Err(failed),
        };
        match ran {
            // What other steps found, or may still find, is kept: the result says what failed.
            Err(failed) if failure::is_given_up(&failed, request.attempt) && others => {
                let value = encode_engine_step(origin, engine, &input_sha256, Err(failed.detail));
                Ok(StepOutput { value, usage: Usage::default() })
            }
            done => done,
        }
    }

    async fn called(
        &self,
        agent: &Agent,
        view: &TaskView,
        at: CallRef,
        name: &str,
        sink: &StepSink,
    ) -> Result<StepOutput, StepError> {
        let found = {
            let past = history::read(view)?;
            free::called(agent, &past, at).map(|(engine, input, _)| EngineCall::new(engine, input, engine_caller(view)))
        };
        let call = found.ok_or_else(|| broken(format!("the model's call {name} is not in the journal")))?;
        let origin = EngineCallOrigin { agent: &agent.id, name, call: Some(at) };
        let (engine, input_sha256) = (call.engine, digest(&call.input));
        match self.run_engine(call, origin, sink).await {
            Err(failed) if failure::is_reported(&failed) => {
                let value = encode_engine_step(origin, engine, &input_sha256, Err(failed.detail));
                Ok(StepOutput { value, usage: Usage::default() })
            }
            done => done,
        }
    }

    /// Runs an engine, and passes on how far it has come.
    async fn watched(&self, call: EngineCall, sink: &StepSink) -> Result<EngineAnswer, Error> {
        let (sender, mut progress) = watch::channel(EngineProgress::default());
        let mut answer = self.engines.run(EngineCall { progress: Some(Arc::new(sender)), ..call });
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                Ok(()) = progress.changed() => sink.progress(&progress.borrow_and_update()),
            }
        }
    }

    async fn run_engine(
        &self,
        call: EngineCall,
        origin: EngineCallOrigin<'_>,
        sink: &StepSink,
    ) -> Result<StepOutput, StepError> {
        let (engine, label) = (call.engine, format!("q{} {}", call.engine.number, call.engine.id));
        let input_sha256 = digest(&call.input);
        sink.log(Level::Info, &format!("{} calls engine {label}", origin.name));
        match self.watched(call, sink).await {
            Ok(answer) => {
                answer.warnings.iter().for_each(|warning| sink.log(Level::Warn, &format!("{label}: {warning}")));
                sink.log(Level::Info, &format!("engine {label} took {} ms", answer.took.as_millis()));
                let usage = answer.usage;
                let value = encode_engine_step(origin, engine, &input_sha256, Ok(answer));
                Ok(StepOutput { value, usage })
            }
            Err(refused) => {
                let failed = failure::engine(origin.name, &label, refused);
                sink.log(Level::Error, &failed.detail);
                Err(failed)
            }
        }
    }
}

/// Returns the owner of the task, on whose behalf engines are called.
fn engine_caller(view: &TaskView) -> EngineCaller {
    let payer = Some(Box::new(super::prompt::spend(view)));
    EngineCaller { actor: view.owner.id.clone(), task: Some(view.task_id.clone()), payer, ..EngineCaller::default() }
}

/// Returns the result, if it was written after the last instruction.
fn result(agent: &Agent, view: &TaskView, past: &[HistoryStep<'_>]) -> Option<Value> {
    past.iter().rev().find_map(|past| match past {
        HistoryStep::Result(result_step)
            if result_step.agent == agent.id && result_step.instructions >= view.instructions.len() =>
        {
            Some(result_step.result.clone())
        }
        _ => None,
    })
}

/// Engines are deterministic, and models are called with the step's key: every step may be repeated.
fn spec(name: &str, kind: StepKind, operation: &StepOperation, total_steps: Option<u32>) -> NextAction {
    let input = serde_json::to_value(operation).unwrap_or_default();
    NextAction::Step(StepSpec { name: name.to_owned(), kind, input, repeatable: true, total_steps })
}

fn unknown(agent: &str) -> Error {
    Error::new(Kind::NotFound, format!("there is no agent {agent:?}: GET /api/v1/agents lists the available agents"))
}

fn invalid(fields: Vec<muster_core::FieldError>) -> Error {
    let message = fields.first().map_or_else(String::new, |first| {
        format!("{}: {}", first.loc.get(1..).unwrap_or_default().join("."), first.msg)
    });
    Error { fields, ..Error::new(Kind::Invalid, message) }
}
