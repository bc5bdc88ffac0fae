//! Execution of a plan, based on the finished steps.

use std::collections::HashMap;

use muster_engines::grammar::{Need, Range, check};
use serde_json::Value;

use super::agents::{Agent, PlanStep};
use super::binding::Binding;
use super::history::{EngineStep, HistoryStep, digest};
use super::reference::{Head, Scope, is_empty};
use super::steer::SteeredParams;
use crate::task::TaskView;

/// Progress of a plan.
#[derive(Debug)]
pub(super) struct PlanProgress<'a> {
    /// Outputs in the plan's order: those of this agent, and those of another agent for the same engine and input.
    pub(super) outputs: Vec<(&'a PlanStep, EngineStep<'a>)>,
    /// Skipped steps, with the reason.
    pub(super) skipped: Vec<(&'a PlanStep, String)>,
    /// The next step; `None` if all are finished.
    pub(super) next: Option<&'a PlanStep>,
    /// Number of remaining steps including the next one, as far as known.
    pub(super) ahead: usize,
}

impl<'a> PlanProgress<'a> {
    pub(super) fn scope<'s>(&'s self, view: &'s TaskView, steered: &'s SteeredParams) -> Scope<'s> {
        scope(view, steered, self.outputs.iter().map(|(step, engine_step)| (step.name.as_str(), engine_step.output)))
    }

    /// Whether the task has results without this step: a step succeeded, or one after it does not need it.
    pub(super) fn has_others(&self, agent: &Agent, step: &PlanStep, scope: &Scope<'_>) -> bool {
        let done = self.outputs.iter().any(|(_, engine_step)| engine_step.error.is_none());
        let later = agent.plan.iter().skip_while(|later| later.name != step.name).skip(1);
        done || later.filter(|later| !certainly_skipped(later, scope)).any(|later| !needs(later, &step.name))
    }
}

/// Whether a step uses the outputs of another.
fn needs(step: &PlanStep, name: &str) -> bool {
    let references = step.bind.iter().flat_map(|(_, binding)| binding.references()).chain(&step.when);
    references.into_iter().any(|reference| matches!(&reference.head, Head::Step { name: of, .. } if of == name))
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
        let failed = progress
            .outputs
            .iter()
            .find(|(before, engine_step)| engine_step.error.is_some() && requires(step, &before.name));
        if let Some((before, _)) = failed {
            progress.skipped.push((step, format!("the step {} failed", before.name)));
            continue;
        }
        if let Some(reason) = skip_reason(step, &scope) {
            progress.skipped.push((step, reason));
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
        HistoryStep::Model(_) | HistoryStep::Filled(_) | HistoryStep::Result(_) => None,
    })
}

/// Outputs that do not exist yet are undecided.
fn certainly_skipped(step: &PlanStep, scope: &Scope<'_>) -> bool {
    step.when.as_ref().is_some_and(|when| match &when.head {
        super::reference::Head::Step { name, .. } if !scope.outputs.contains_key(name.as_str()) => false,
        _ => skip_reason(step, scope).is_some(),
    })
}

/// Whether a required input of a step is an output of another.
fn requires(step: &PlanStep, name: &str) -> bool {
    step.bind.iter().any(|(input, binding)| {
        let required = |field: &muster_engines::grammar::Field| field.name == *input && field.need == Need::Required;
        let is_required = step.engine.fields().inputs.iter().any(required);
        is_required
            && binding
                .references()
                .iter()
                .any(|reference| matches!(&reference.head, Head::Step { name: of, .. } if of == name))
    })
}

/// Returns why a step is skipped, if it is: its condition is empty, or a parameter or an output of another step is outside
/// the range of its input.
pub(super) fn skip_reason(step: &PlanStep, scope: &Scope<'_>) -> Option<String> {
    let when = step.when.as_ref()?;
    let condition = when.value(scope);
    if is_empty(&condition) || condition == Value::Bool(false) {
        return Some(format!("{when} is empty"));
    }
    // Without a value that its engine requires it would only fail.
    let lacking = step.bind.iter().find_map(|(name, binding)| {
        let Binding::Reference(reference) = binding else { return None };
        let of_param = matches!(reference.head, Head::Param(_)) && reference.hops.is_empty();
        let required =
            || step.engine.fields().inputs.iter().any(|field| field.name == *name && field.need == Need::Required);
        (of_param && binding.value(scope).is_null() && required()).then_some(reference)
    });
    if let Some(reference) = lacking {
        return Some(format!("{reference} is empty"));
    }
    step.bind.iter().find_map(|(name, binding)| {
        let field = step.engine.fields().inputs.iter().find(|field| field.name == *name)?;
        let reference = match binding {
            Binding::Reference(reference) | Binding::Converted { reference, .. } => reference,
            Binding::First(_) | Binding::Literal(_) | Binding::Array(_) | Binding::Object(_) => return None,
        };
        let value = binding.value(scope);
        let is_given = matches!(reference.head, Head::Param(_) | Head::Step { .. }) && value.is_number();
        let problem = check(&field.kind, field.range, &value).into_iter().next().filter(|_| is_given)?;
        check(&field.kind, Range::default(), &value)
            .is_empty()
            .then(|| format!("{reference} is {value}, and {name} {}", problem.message))
    })
}

/// Returns a step's input. Null values are omitted, so that the engine's defaults apply.
pub(super) fn input(step: &PlanStep, scope: &Scope<'_>) -> Value {
    let bound = step.bind.iter().map(|(name, binding)| (name.clone(), binding.value(scope)));
    Value::Object(bound.filter(|(_, value)| !value.is_null()).collect())
}
