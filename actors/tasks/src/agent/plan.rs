//! Execution of a plan, based on the finished steps.

use std::collections::HashMap;

use serde_json::Value;

use super::agents::{Agent, PlanStep};
use super::history::{Past, Ran, digest};
use super::reference::{Scope, is_empty};
use super::steer::Steered;
use crate::task::View;

/// Progress of a plan.
#[derive(Debug)]
pub(super) struct Walked<'a> {
    /// Outputs in the plan's order: those of this agent, and those of another agent for the same engine and input.
    pub(super) outputs: Vec<(&'a PlanStep, Ran<'a>)>,
    /// Skipped steps.
    pub(super) skipped: Vec<&'a PlanStep>,
    /// The next step; `None` if all are finished.
    pub(super) next: Option<&'a PlanStep>,
    /// Number of remaining steps including the next one, as far as known.
    pub(super) ahead: usize,
}

impl<'a> Walked<'a> {
    pub(super) fn scope<'s>(&'s self, view: &'s View, steered: &'s Steered) -> Scope<'s> {
        scope(view, steered, self.outputs.iter().map(|(step, ran)| (step.name.as_str(), ran.output)))
    }
}

fn scope<'s>(view: &'s View, steered: &'s Steered, outputs: impl Iterator<Item = (&'s str, &'s Value)>) -> Scope<'s> {
    Scope {
        task: &view.task,
        now: view.created_at.rfc3339(),
        params: &steered.params,
        outputs: outputs.collect::<HashMap<_, _>>(),
    }
}

pub(super) fn walk<'a>(agent: &'a Agent, view: &'a View, past: &[Past<'a>], steered: &Steered) -> Walked<'a> {
    let mut walked = Walked { outputs: Vec::new(), skipped: Vec::new(), next: None, ahead: 0 };
    for (at, step) in agent.plan.iter().enumerate() {
        if let Some(ran) = own(agent, past, step) {
            walked.outputs.push((step, ran));
            continue;
        }
        let scope = scope(view, steered, walked.outputs.iter().map(|(step, ran)| (step.name.as_str(), ran.output)));
        if step.when.as_ref().is_some_and(|when| is_empty(&when.value(&scope))) {
            walked.skipped.push(step);
            continue;
        }
        match inherited(agent, past, step, &scope) {
            Some(ran) => walked.outputs.push((step, ran)),
            None => {
                let later = agent.plan.iter().skip(at + 1).filter(|later| !certainly_skipped(later, &scope));
                walked.ahead = 1 + later.count();
                walked.next = Some(step);
                break;
            }
        }
    }
    walked
}

fn own<'a>(agent: &Agent, past: &[Past<'a>], step: &PlanStep) -> Option<Ran<'a>> {
    runs(past).find(|ran| ran.agent == agent.id && ran.call.is_none() && ran.name == step.name).cloned()
}

/// Returns the output of another agent's identical step.
fn inherited<'a>(agent: &Agent, past: &[Past<'a>], step: &PlanStep, scope: &Scope<'_>) -> Option<Ran<'a>> {
    let mut like = runs(past)
        .filter(|ran| ran.agent != agent.id && ran.engine == step.engine.id && ran.error.is_none())
        .peekable();
    like.peek()?;
    let wanted = digest(&input(step, scope));
    like.find(|ran| ran.input_sha256 == wanted).cloned()
}

fn runs<'s, 'a>(past: &'s [Past<'a>]) -> impl Iterator<Item = &'s Ran<'a>> {
    past.iter().filter_map(|past| match past {
        Past::Ran(ran) => Some(ran),
        Past::Asked(_) | Past::Wrote(_) => None,
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
