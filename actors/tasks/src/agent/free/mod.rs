//! Free planning: a model chooses the engines, one bounded step after another.
//!
//! One step asks the model; each engine that it calls is a step of its own. The conversation is rebuilt from the
//! finished steps every time, so nothing of it is lost with a runner.

mod calls;
mod conversation;

use std::sync::Arc;

use muster_engines::Engine;
use muster_providers::ToolCall;

use super::agents::Agent;
use super::history::{Asked, CallRef, Past, asked};
use super::models::Models;
use super::prompt::{Question, ask};
use super::speech::listen;
use super::steer::Steered;
use super::work::AgentOptions;
use crate::task::{Level, StepAsk, StepError, StepOutput, StepSink, View};

pub(super) use calls::{FINISH, Verdict, verdict};

/// The next action of a task planned by a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Move {
    AskModel,
    Call { at: CallRef, name: String },
    WriteUp,
}

/// Returns whether a model plans this agent's part of the task: it does if it was asked before.
pub(super) fn begun(agent: &Agent, past: &[Past<'_>]) -> Option<Begun> {
    past.iter().find_map(|past| match past {
        Past::Asked(asked) if asked.agent == agent.id => Some(Begun::Freely),
        Past::Ran(ran) if ran.agent == agent.id => Some(Begun::ByPlan),
        _ => None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    Freely,
    ByPlan,
}

pub(super) fn next(agent: &Agent, view: &View, past: &[Past<'_>], options: AgentOptions, has_model: HasModel) -> Move {
    let steps = past.iter().filter(|past| is_own(agent, past)).count();
    if steps >= options.max_steps {
        return Move::WriteUp;
    }
    let ask = if has_model == HasModel::Yes { Move::AskModel } else { Move::WriteUp };
    let Some(last) = last_asked(agent, past) else { return ask };
    // After a redirect, earlier calls are no longer executed.
    if view.instructions.len() > last.instructions {
        return ask;
    }
    let open = last.calls.iter().enumerate().find_map(|(call, tool)| {
        let at = CallRef { step: last.index, call };
        let due = matches!(verdict(agent, tool), Verdict::Runs(..)) && !is_done(past, at);
        due.then_some((at, tool))
    });
    match open {
        Some((at, tool)) => Move::Call { at, name: name_for(past, &tool.name) },
        None if last.calls.is_empty() || last.calls.iter().any(|call| call.name == FINISH) => Move::WriteUp,
        None => ask,
    }
}

/// Whether a model that can plan is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasModel {
    Yes,
    No,
}

fn is_own(agent: &Agent, past: &Past<'_>) -> bool {
    match past {
        Past::Ran(ran) => ran.agent == agent.id,
        Past::Asked(asked) => asked.agent == agent.id,
        Past::Wrote(_) => false,
    }
}

fn last_asked<'s>(agent: &Agent, past: &'s [Past<'_>]) -> Option<&'s Asked> {
    past.iter().rev().find_map(|past| match past {
        Past::Asked(asked) if asked.agent == agent.id => Some(asked),
        _ => None,
    })
}

fn is_done(past: &[Past<'_>], at: CallRef) -> bool {
    past.iter().any(|past| matches!(past, Past::Ran(ran) if ran.call == Some(at)))
}

/// Returns a name for a call's output: the engine's name, with a number if it was called before.
fn name_for(past: &[Past<'_>], engine: &str) -> String {
    let before = past.iter().filter(|past| matches!(past, Past::Ran(ran) if ran.engine == engine)).count();
    let name = engine.replace('-', "_");
    if before == 0 { name } else { format!("{name}_{}", before + 1) }
}

/// Returns the engine and the input of a call in the history.
pub(super) fn called<'s>(
    agent: &Agent,
    past: &'s [Past<'_>],
    at: CallRef,
) -> Option<(&'static Engine, serde_json::Value, &'s ToolCall)> {
    let asked = past.iter().find_map(|past| match past {
        Past::Asked(asked) if asked.index == at.step => Some(asked),
        _ => None,
    })?;
    let call = asked.calls.get(at.call)?;
    match verdict(agent, call) {
        Verdict::Runs(engine, input) => Some((engine, input, call)),
        Verdict::Finish | Verdict::Refused(_) => None,
    }
}

/// Asks the model what comes next.
pub(super) async fn ask_model(
    agent: &Agent,
    step: &StepAsk,
    steered: Steered,
    model: String,
    models: Arc<dyn Models>,
    options: AgentOptions,
    desk: &StepSink,
) -> Result<StepOutput, StepError> {
    let past = super::history::read(&step.view)?;
    let steps = past.iter().filter(|past| is_own(agent, past)).count();
    let left = options.max_steps.saturating_sub(steps);
    let messages = conversation::build(agent, &step.view, &past, &steered, options, left);
    drop(past);
    let question = Question {
        model,
        messages,
        tools: calls::tools(agent),
        max_tokens: options.answer_tokens,
        request_id: step.key.to_string(),
    };
    let mut heard = listen(&*models, ask(&step.view, question), desk).await?;
    calls::give_ids(&mut heard.calls, step.key.index);
    let names: Vec<&str> = heard.calls.iter().map(|call| call.name.as_str()).collect();
    desk.log(Level::Info, &format!("{} asks for {}", heard.model_id, or_nothing(&names.join(", "))));
    let instructions = step.view.instructions.len();
    let value = asked(&agent.id, &heard.model_id, &heard.text, &heard.calls, instructions);
    Ok(StepOutput { value, usage: heard.usage })
}

fn or_nothing(names: &str) -> &str {
    if names.is_empty() { "no tool" } else { names }
}
