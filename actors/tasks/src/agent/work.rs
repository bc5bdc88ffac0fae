//! Implementation of [`Work`] for agents.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agents::{Agent, Agents};
use super::failure::{self, PARAMS_MISSING, broken};
use super::free::{self, Begun, HasModel, Move};
use super::history::{self, CallRef, Caller, Past, digest, ran};
use super::models::Models;
use super::parameter::{accept, missing};
use super::steer::{Steered, steered};
use super::{fill, plan, writeup};
use crate::engine::{Behalf, EngineCall, EngineRunner};
use crate::task::{
    Admission, Level, Next, StepAsk, StepError, StepKind, StepOutput, StepSink, StepSpec, Usage, View, Waiting, Work,
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
pub struct AgentWork {
    agents: Agents,
    engines: Arc<dyn EngineRunner>,
    models: Arc<dyn Models>,
    options: AgentOptions,
}

/// The operation of a step: its [`StepSpec::input`]. Its actual input is derived from the finished steps, which are
/// durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Duty {
    /// A step of the plan.
    Plan {
        #[serde(rename = "as")]
        name: String,
    },
    AskModel,
    /// An engine called by a model.
    Call {
        at: CallRef,
        #[serde(rename = "as")]
        name: String,
    },
    WriteUp,
}

impl Work for AgentWork {
    fn admit(&self, agent: &str, task: &str, params: Value) -> Result<Admission, Error> {
        let agent = self.agents.get(agent).ok_or_else(|| unknown(agent))?;
        let mut accepted = accept(&agent.parameters, params, task);
        fill::from_text(&agent.parameters, &mut accepted, task);
        let has_model = self.models.planner().is_some();
        // A model reads the instruction itself.
        if !has_model {
            accepted.problems.extend(accepted.missing.iter().map(|name| missing(name)));
        }
        if !accepted.problems.is_empty() {
            return Err(invalid(accepted.problems));
        }
        let steps = u32::try_from(agent.plan.len()).unwrap_or(u32::MAX);
        let default_seconds = if has_model { SECONDS_WITH_A_MODEL } else { steps.saturating_mul(SECONDS_A_STEP) };
        let total_steps = if has_model { None } else { Some(self.planned(agent, task, &accepted.params)) };
        Ok(Admission { params: Value::Object(accepted.params), default_seconds, total_steps })
    }

    fn next(&self, view: &View) -> Result<Next, StepError> {
        let agent = self.agent(&view.agent)?;
        let past = history::read(view)?;
        if let Some(result) = result(agent, view, &past) {
            return Ok(Next::Done(result));
        }
        // A task continues in the way it began, whatever the current settings are.
        let begun = free::begun(agent, &past);
        if begun == Some(Begun::ByPlan) {
            return Ok(by_plan(agent, view, &past));
        }
        let has_model = if self.models.planner().is_some() { HasModel::Yes } else { HasModel::No };
        Ok(match (begun, has_model) {
            (None, HasModel::No) => by_plan(agent, view, &past),
            _ => self.freely(agent, view, &past, has_model),
        })
    }

    fn run(&self, ask: StepAsk, desk: StepSink) -> BoxFuture<'static, Result<StepOutput, StepError>> {
        let work = self.clone();
        async move { work.step(ask, desk).await }.boxed()
    }
}

impl AgentWork {
    pub fn new(agents: Agents, engines: Arc<dyn EngineRunner>, models: Arc<dyn Models>, options: AgentOptions) -> Self {
        Self { agents, engines, models, options }
    }

    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    fn agent(&self, id: &str) -> Result<&Arc<Agent>, StepError> {
        self.agents.get(id).ok_or_else(|| broken(format!("this server has no agent {id:?} any more")))
    }

    fn freely(&self, agent: &Agent, view: &View, past: &[Past<'_>], has_model: HasModel) -> Next {
        match free::next(agent, view, past, self.options, has_model) {
            Move::AskModel => spec("plan", StepKind::Model, &Duty::AskModel, None),
            Move::Call { at, name } => spec(&name, StepKind::Engine, &Duty::Call { at, name: name.clone() }, None),
            Move::WriteUp => spec("write-up", StepKind::Writeup, &Duty::WriteUp, u32::try_from(past.len() + 1).ok()),
        }
    }

    /// Returns the number of steps of the plan, as far as the params determine it, including the write-up.
    fn planned(&self, agent: &Agent, task: &str, params: &serde_json::Map<String, Value>) -> u32 {
        let scope = super::reference::Scope { task, now: String::new(), params, outputs: Default::default() };
        let skipped = |step: &&super::agents::PlanStep| {
            let when = step.when.as_ref().filter(|when| matches!(when.head, super::reference::Head::Param(_)));
            when.is_some_and(|when| super::reference::is_empty(&when.value(&scope)))
        };
        let steps = agent.plan.iter().filter(|step| !skipped(step)).count() + 1;
        u32::try_from(steps).unwrap_or(u32::MAX)
    }

    async fn step(&self, ask: StepAsk, desk: StepSink) -> Result<StepOutput, StepError> {
        let view = Arc::clone(&ask.view);
        let agent = Arc::clone(self.agent(&view.agent)?);
        let duty = Duty::deserialize(&ask.spec.input)
            .map_err(|_| broken("the journal's step is not one of an agent: start the task again"))?;
        let steered = steered(&agent, &view);
        match duty {
            Duty::AskModel => {
                let model = self.models.planner().ok_or_else(|| {
                    StepError::new(
                        "PROVIDER_FAILED",
                        "no model that can call tools is there now",
                        crate::task::Retry::Soon,
                    )
                })?;
                let models = Arc::clone(&self.models);
                free::ask_model(&agent, &ask, steered, model, models, self.options, &desk).await
            }
            Duty::Plan { name } => self.plan_step(&agent, &view, &steered, &name, &desk).await,
            Duty::Call { at, name } => self.called(&agent, &view, at, &name, &desk).await,
            Duty::WriteUp => {
                let past = history::read(&view)?;
                let models = Arc::clone(&self.models);
                writeup::write(&agent, &ask, &past, &steered, models, self.options, &desk).await
            }
        }
    }

    async fn plan_step(
        &self,
        agent: &Agent,
        view: &View,
        steered: &Steered,
        name: &str,
        desk: &StepSink,
    ) -> Result<StepOutput, StepError> {
        let (engine, input) = {
            let past = history::read(view)?;
            let walked = plan::walk(agent, view, &past, steered);
            let step = walked.next.filter(|step| step.name == name);
            let step = step.ok_or_else(|| broken(format!("the plan of {} has no step {name} now", agent.id)))?;
            let input = plan::input(step, &walked.scope(view, steered));
            (step.engine, input)
        };
        let lacks =
            engine.fields().inputs.iter().find(|field| {
                field.need == muster_engines::grammar::Need::Required && input.get(&field.name).is_none()
            });
        if let Some(field) = lacks {
            let detail = format!("step {name}: what its input {} is bound to is empty", field.name);
            return Err(StepError::new(PARAMS_MISSING, detail, crate::task::Retry::Never));
        }
        let caller = Caller { agent: &agent.id, name, call: None };
        self.run_engine(EngineCall { engine, input, behalf: behalf(view) }, caller, desk).await
    }

    async fn called(
        &self,
        agent: &Agent,
        view: &View,
        at: CallRef,
        name: &str,
        desk: &StepSink,
    ) -> Result<StepOutput, StepError> {
        let found = {
            let past = history::read(view)?;
            free::called(agent, &past, at).map(|(engine, input, _)| EngineCall { engine, input, behalf: behalf(view) })
        };
        let call = found.ok_or_else(|| broken(format!("the model's call {name} is not in the journal")))?;
        let caller = Caller { agent: &agent.id, name, call: Some(at) };
        let (engine, input_sha256) = (call.engine, digest(&call.input));
        match self.run_engine(call, caller, desk).await {
            Err(failed) if failure::is_told(&failed) => {
                let value = ran(caller, engine, &input_sha256, Err(failed.detail));
                Ok(StepOutput { value, usage: Usage::default() })
            }
            done => done,
        }
    }

    async fn run_engine(&self, call: EngineCall, caller: Caller<'_>, desk: &StepSink) -> Result<StepOutput, StepError> {
        let (engine, label) = (call.engine, format!("q{} {}", call.engine.number, call.engine.id));
        let input_sha256 = digest(&call.input);
        desk.log(Level::Info, &format!("{} calls engine {label}", caller.name));
        match self.engines.run(call).await {
            Ok(answer) => {
                answer.warnings.iter().for_each(|warning| desk.log(Level::Warn, &format!("{label}: {warning}")));
                desk.log(Level::Info, &format!("engine {label} took {} ms", answer.took.as_millis()));
                let value = ran(caller, engine, &input_sha256, Ok(answer));
                Ok(StepOutput { value, usage: Usage::default() })
            }
            Err(refused) => {
                let failed = failure::engine(caller.name, &label, refused);
                desk.log(Level::Error, &failed.detail);
                Err(failed)
            }
        }
    }
}

/// Returns the owner of the task, on whose behalf engines are called.
fn behalf(view: &View) -> Behalf {
    Behalf { actor: view.owner.id.clone(), task: Some(view.task_id.clone()) }
}

fn by_plan(agent: &Agent, view: &View, past: &[Past<'_>]) -> Next {
    let steered = steered(agent, view);
    if !steered.missing.is_empty() {
        let names = steered.missing.join(", ");
        let detail = format!(
            "the agent {} needs {names}: redirect the task with {{\"params\": {{…}}}} as its instruction",
            agent.id
        );
        return Next::Wait(Waiting { reason: "input".to_owned(), detail });
    }
    let walked = plan::walk(agent, view, past, &steered);
    let total = u32::try_from(past.len() + walked.ahead + 1).ok();
    match walked.next {
        Some(step) => {
            let duty = Duty::Plan { name: step.name.clone() };
            spec(&step.name, StepKind::Engine, &duty, total)
        }
        None => spec("write-up", StepKind::Writeup, &Duty::WriteUp, total),
    }
}

/// Returns the result, if it was written after the last instruction.
fn result(agent: &Agent, view: &View, past: &[Past<'_>]) -> Option<Value> {
    past.iter().rev().find_map(|past| match past {
        Past::Wrote(wrote) if wrote.agent == agent.id && wrote.instructions >= view.instructions.len() => {
            Some(wrote.result.clone())
        }
        _ => None,
    })
}

/// Engines are deterministic, and models are called with the step's key: every step may be repeated.
fn spec(name: &str, kind: StepKind, duty: &Duty, total_steps: Option<u32>) -> Next {
    let input = serde_json::to_value(duty).unwrap_or_default();
    Next::Step(StepSpec { name: name.to_owned(), kind, input, repeatable: true, total_steps })
}

fn unknown(agent: &str) -> Error {
    Error::new(Kind::NotFound, format!("there is no agent {agent:?}: GET /api/v1/agents lists those that there are"))
}

fn invalid(fields: Vec<muster_core::FieldError>) -> Error {
    let message = fields.first().map_or_else(String::new, |first| {
        format!("{}: {}", first.loc.get(1..).unwrap_or_default().join("."), first.msg)
    });
    Error { fields, ..Error::new(Kind::Invalid, message) }
}
