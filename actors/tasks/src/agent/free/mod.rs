//! Free planning: a model chooses the engines, one bounded step after another.
//!
//! One step calls the model; each engine that the model calls is a step of its own. The conversation is rebuilt from
//! the finished steps every time, so nothing of it is lost with a runner.

mod calls;
mod conversation;
mod schema;

use std::sync::Arc;

use muster_engines::Engine;
use muster_providers::ToolCall;

use super::agents::Agent;
use super::answer::collect_answer;
use super::executor::AgentOptions;
use super::history::{CallRef, HistoryStep, ModelStep, encode_model_step};
use super::models::Models;
use super::prompt::{ModelPrompt, gateway_request};
use super::steer::SteeredParams;
use crate::task::{Level, StepError, StepOutput, StepRequest, StepSink, TaskView};

pub(super) use calls::{FINISH, Verdict, verdict};

/// The next action of a task planned by a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FreeAction {
    CallModel,
    Call { at: CallRef, name: String },
    WriteUp,
}

/// Returns how this agent's part of the task is planned, if it has begun: a task continues as it began.
pub(super) fn planning_mode(agent: &Agent, past: &[HistoryStep<'_>]) -> Option<PlanningMode> {
    past.iter().find_map(|past| match past {
        HistoryStep::Model(model_step) if model_step.agent == agent.id => Some(PlanningMode::ByModel),
        HistoryStep::Engine(engine_step) if engine_step.agent == agent.id => Some(PlanningMode::ByPlan),
        // Where a model plans, it reads the instruction itself.
        HistoryStep::Filled(filled) if filled.agent == agent.id => Some(PlanningMode::ByPlan),
        _ => None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanningMode {
    ByModel,
    ByPlan,
}

pub(super) fn next(
    agent: &Agent,
    view: &TaskView,
    past: &[HistoryStep<'_>],
    options: AgentOptions,
    has_model: HasModel,
) -> FreeAction {
    let steps = past.iter().filter(|past| is_own(agent, past)).count();
    if steps >= options.max_steps {
        return FreeAction::WriteUp;
    }
    let call_model = if has_model == HasModel::Yes { FreeAction::CallModel } else { FreeAction::WriteUp };
    let Some(last) = last_model_step(agent, past) else { return call_model };
    // After a redirect, earlier calls are no longer executed.
    if view.instructions.len() > last.instructions {
        return call_model;
    }
    let open = last.calls.iter().enumerate().find_map(|(call, tool)| {
        let at = CallRef { step: last.index, call };
        let due = matches!(verdict(agent, tool), Verdict::Runs(..)) && !is_done(past, at);
        due.then_some((at, tool))
    });
    match open {
        Some((at, tool)) => FreeAction::Call { at, name: name_for(past, &tool.name) },
        None if last.calls.is_empty() || last.calls.iter().any(|call| call.name == FINISH) => FreeAction::WriteUp,
        None => call_model,
    }
}

/// Whether a model that can plan is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasModel {
    Yes,
    No,
}

fn is_own(agent: &Agent, past: &HistoryStep<'_>) -> bool {
    match past {
        HistoryStep::Engine(engine_step) => engine_step.agent == agent.id,
        HistoryStep::Model(model_step) => model_step.agent == agent.id,
        HistoryStep::Filled(_) | HistoryStep::Result(_) => false,
    }
}

fn last_model_step<'s>(agent: &Agent, past: &'s [HistoryStep<'_>]) -> Option<&'s ModelStep> {
    past.iter().rev().find_map(|past| match past {
        HistoryStep::Model(model_step) if model_step.agent == agent.id => Some(model_step),
        _ => None,
    })
}

fn is_done(past: &[HistoryStep<'_>], at: CallRef) -> bool {
    past.iter().any(|past| matches!(past, HistoryStep::Engine(engine_step) if engine_step.call == Some(at)))
}

/// Returns a name for a call's output: the engine's name, with a number if it was called before.
fn name_for(past: &[HistoryStep<'_>], engine: &str) -> String {
    let before = past
        .iter()
        .filter(|past| matches!(past, HistoryStep::Engine(engine_step) if engine_step.engine == engine))
        .count();
    let name = engine.replace('-', "_");
    if before == 0 { name } else { format!("{name}_{}", before + 1) }
}

/// Returns the engine and the input of a call in the history.
pub(super) fn called<'s>(
    agent: &Agent,
    past: &'s [HistoryStep<'_>],
    at: CallRef,
) -> Option<(&'static Engine, serde_json::Value, &'s ToolCall)> {
    let model_step = past.iter().find_map(|past| match past {
        HistoryStep::Model(model_step) if model_step.index == at.step => Some(model_step),
        _ => None,
    })?;
    let call = model_step.calls.get(at.call)?;
    match verdict(agent, call) {
        Verdict::Runs(engine, input) => Some((engine, input, call)),
        Verdict::Finish | Verdict::Refused(_) => None,
    }
}

/// Calls the model, which determines what comes next.
pub(super) async fn call_model(
    agent: &Agent,
    step: &StepRequest,
    steered: SteeredParams,
    model: String,
    models: Arc<dyn Models>,
    options: AgentOptions,
    sink: &StepSink,
) -> Result<StepOutput, StepError> {
    let past = super::history::read(&step.view)?;
    let steps = past.iter().filter(|past| is_own(agent, past)).count();
    let left = options.max_steps.saturating_sub(steps);
    let messages = conversation::build(agent, &step.view, &past, &steered, options, left);
    drop(past);
    let prompt = ModelPrompt {
        model,
        messages,
        tools: calls::tools(agent),
        max_tokens: options.answer_tokens,
        request_id: step.key.to_string(),
    };
    let mut answer = collect_answer(&*models, gateway_request(&step.view, prompt), sink).await?;
    calls::assign_ids(&mut answer.calls, step.key.index);
    let names: Vec<&str> = answer.calls.iter().map(|call| call.name.as_str()).collect();
    sink.log(Level::Info, &format!("{} requests {}", answer.model_id, or_no_tool(&names.join(", "))));
    let instructions = step.view.instructions.len();
    let value = encode_model_step(&agent.id, &answer.model_id, &answer.text, &answer.calls, instructions);
    Ok(StepOutput { value, usage: answer.usage })
}

fn or_no_tool(names: &str) -> &str {
    if names.is_empty() { "no tool" } else { names }
}
