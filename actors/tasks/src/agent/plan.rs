//! Execution of a plan, based on the finished steps.

use std::collections::HashMap;

use serde_json::Value;

use super::agents::{Agent, PlanStep};
use super::history::{EngineStep, HistoryStep, digest};
use super::reference::{Scope, is_empty};
use super::steer::SteeredParams;
use crate::task::TaskView;

/// Progress of a plan.
#[derive(Debug)]
pub(super) struct PlanProgress<'a> {
    /// Outputs in the plan's order: those of this agent, and those of another agent for the same engine and input.
    pub(super) outputs: Vec<(&'a PlanStep, EngineStep<'a>)>,
    /// Skipped steps.
    pub(super) skipped: Vec<&'a PlanStep>,
    /// The next step; `None` if all are finished.
    pub(super) next: Option<&'a PlanStep>,
    /// Number of remaining steps including the next one, as far as known.
    pub(super) ahead: usize,
}

impl<'a> PlanProgress<'a> {
    pub(super) fn scope<'s>(&'s self, view: &'s TaskView, steered: &'s SteeredParams) -> Scope<'s> {
        scope(view, steered, self.outputs.iter().map(|(step, engine_step)| (step.name.as_str(), engine_step.output)))
    }
}

fn scope<'s>(
    view: &'s TaskView,
    steered: &'s SteeredParams,
    outputs: impl Iterator<Item = (&'s str, &'s Value)>,
) -> Scope<'s> {
    Scope {
        task: &view.task,
        now: view.created_at.rfc3339(),
        params: &steered.params,
        outputs: outputs.collect::<HashMap<_, _>>(),
    }
}

pub(super) fn progress<'a>(
    agent: &'a Agent,
    view: &'a TaskView,
    past: &[HistoryStep<'a>],
    steered: &SteeredParams,
) -> PlanProgress<'a> {
    let mut progress = PlanProgress { outputs: Vec::new(), skipped: Vec::new(), next: None, ahead: 0 };
    for (at, step) in agent.plan.iter().enumerate() {
        if let Some(engine_step) = own(agent, past, step) {
            progress.outputs.push((step, engine_step));
            continue;
        }
        let scope = scope(
            view,
            steered,
            progress.outputs.iter().map(|(step, engine_step)| (step.name.as_str(), engine_step.output)),
        );
        if step.when.as_ref().is_some_and(|when| is_empty(&when.value(&scope))) {
            progress.skipped.push(step);
            continue;
        }
        match inherited(agent, past, step, &scope) {
            Some(engine_step) => progress.outputs.push((step, engine_step)),
            None => {
                let later = agent.plan.iter().skip(at + 1).filter(|later| !certainly_skipped(later, &scope));
                progress.ahead = 1 + later.count();
                progress.next = Some(step);
                break;
            }
        }
    }
    progress
}

fn own<'a>(agent: &Agent, past: &[HistoryStep<'a>], step: &PlanStep) -> Option<EngineStep<'a>> {
    runs(past)
        .find(|engine_step| {
            engine_step.agent == agent.id && engine_step.call.is_none() && engine_step.name == step.name
        })
        .cloned()
}

/// Returns the output of another agent's identical step.
fn inherited<'a>(
    agent: &Agent,
    past: &[HistoryStep<'a>],
    step: &PlanStep,
    scope: &Scope<'_>,
) -> Option<EngineStep<'a>> {
    let mut like = runs(past)
        .filter(|engine_step| {
            engine_step.agent != agent.id && engine_step.engine == step.engine.id && engine_step.error.is_none()
        })
        .peekable();
    like.peek()?;
    let wanted = digest(&input(step, scope));
    like.find(|engine_step| engine_step.input_sha256 == wanted).cloned()
}

fn runs<'s, 'a>(past: &'s [HistoryStep<'a>]) -> impl Iterator<Item = &'s EngineStep<'a>> {
    past.iter().filter_map(|past| match past {
        HistoryStep::Engine(engine_step) => Some(engine_step),
        HistoryStep::Model(_) | HistoryStep::Result(_) => None,
    })
}

/// Outputs that do not exist yet are undecided.
fn certainly_skipped(step: &PlanStep, scope: &Scope<'_>) -> bool {
    step.when.as_ref().is_some_and(|when| match &when.head {
        super::reference::Head::Step { name, .. } if !scope.outputs.contains_key(name.as_str()) => false,
        _ => is_empty(&when.value(scope)),
    })
}

/// Returns a step's input. Null values are omitted, so that the engine's defaults apply.
pub(super) fn input(step: &PlanStep, scope: &Scope<'_>) -> Value {
    let bound = step.bind.iter().map(|(name, binding)| (name.clone(), binding.value(scope)));
    Value::Object(bound.filter(|(_, value)| !value.is_null()).collect())
}
