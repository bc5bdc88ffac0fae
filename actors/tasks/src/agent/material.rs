//! The content of a result: outputs, sections and notes.

use std::collections::HashSet;
use std::ops::Range;

use muster_engines::Engine;
use muster_engines::grammar::{Member, Prim, Type};
use serde_json::{Value, json};

use super::advice::Advice;
use super::agents::Agent;
use super::free::{self, PlanningMode};
use super::history::{EngineStep, HistoryStep};
use super::parameter::ParameterDefault;
use super::reference::{Head, Reference, is_empty};
use super::steer::{Note, SteeredParams};
use super::{instruction, needs, plan, steer};
use crate::task::TaskView;

/// Most findings among the next steps, and most next steps.
const MAX_FINDINGS: usize = 3;
const MAX_NEXT_STEPS: usize = 8;

/// An engine's output under its name in the result.
#[derive(Debug)]
pub(super) struct Use<'a> {
    pub(super) name: String,
    pub(super) engine_step: EngineStep<'a>,
}

/// A section.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) title: String,
    /// Origin of its value, such as `q187 repo-tree`.
    pub(super) source: String,
    pub(super) value: Value,
    /// What it means that there is no value, or an empty list; empty for the usual words.
    pub(super) none: String,
    /// Type and unit of the value, as its engine declares them.
    pub(super) kind: Type,
    pub(super) unit: String,
}

#[derive(Debug)]
pub(super) struct Material<'a> {
    pub(super) uses: Vec<Use<'a>>,
    pub(super) parts: Vec<Part>,
    /// Sentences at the beginning of the report.
    pub(super) key_points: Vec<String>,
    /// Next steps of the agent's data.
    pub(super) advised: Vec<String>,
    /// Skipped steps of the plan, with the reason.
    pub(super) skipped: Vec<String>,
    pub(super) notes: Vec<Note>,
    pub(super) warnings: Vec<String>,
    /// Failed steps, with the reason.
    pub(super) failed: Vec<String>,
    /// Params that are from the instruction: `{param, value, by, evidence}`.
    pub(super) filled: Vec<Value>,
    /// Params that have their default, of steps that ran: `{param, value, unit}`.
    pub(super) defaults: Vec<Value>,
    /// Parts of the instruction from which nothing was taken, where no model reads it.
    pub(super) unused: Vec<String>,
    /// Titles of the sections that the instruction puts first.
    pub(super) focus: Vec<String>,
    /// What a reader may do next.
    pub(super) next_steps: Vec<String>,
}

impl<'a> Material<'a> {
    pub(super) fn gather(
        agent: &'a Agent,
        view: &'a TaskView,
        past: &[HistoryStep<'a>],
        steered: &SteeredParams,
    ) -> Self {
        let by_model = free::planning_mode(agent, past) == Some(PlanningMode::ByModel);
        let mut material = if by_model {
            Self { notes: steered.notes.clone(), ..Self::of_calls(agent, past) }
        } else {
            Self { notes: steered.notes.clone(), ..Self::of_plan(agent, view, past, steered) }
        };
        material.inherit(agent, past);
        let (filled, mut places) = steer::filled(agent, view, steered);
        material.filled = filled;
        if !by_model {
            material.defaults = material.defaults(agent, steered);
        }
        if !by_model {
            places.extend(material.put_first(&view.task));
            view.instructions.iter().for_each(|instruction| drop(material.put_first(&instruction.text)));
            material.unused = instruction::unused(agent, &view.task, &places);
        }
        for Use { name, engine_step } in &material.uses {
            let warnings =
                engine_step.warnings.iter().map(|warning| format!("{} ({name}): {warning}", engine_step.label()));
            material.warnings.extend(warnings);
            if let Some(error) = engine_step.error {
                material.warnings.push(format!("{} ({name}) failed: {error}", engine_step.label()));
                material.failed.push(format!("{name} ({}): {error}", engine_step.label()));
            }
        }
        material.next_steps = material.next_steps(agent);
        material
    }

    /// Puts the sections first that an instruction names as its focus. Returns the places in it.
    fn put_first(&mut self, text: &str) -> Vec<Range<usize>> {
        let titles: Vec<&str> = self.parts.iter().map(|part| part.title.as_str()).collect();
        let (mut first, places) = instruction::focus(&titles, text);
        first.sort_unstable();
        self.focus.extend(first.iter().filter_map(|at| titles.get(*at).map(|title| (*title).to_owned())));
        let parts = std::mem::take(&mut self.parts);
        let (front, rest): (Vec<_>, Vec<_>) = parts.into_iter().enumerate().partition(|(at, _)| first.contains(at));
        self.parts = front.into_iter().chain(rest).map(|(_, part)| part).collect();
        places
    }

    /// Returns the params that have their default and are inputs of a step that ran: a reader would not know that they
    /// were not given.
    fn defaults(&self, agent: &Agent, steered: &SteeredParams) -> Vec<Value> {
        let names = |reference: &&Reference, name: &str| matches!(&reference.head, Head::Param(of) if of == name);
        let used = |name: &str| {
            let ran = agent.plan.iter().filter(|step| self.uses.iter().any(|used| used.name == step.name));
            ran.flat_map(|step| &step.bind)
                .any(|(_, binding)| binding.references().iter().any(|reference| names(reference, name)))
        };
        let is_filled = |name: &str| self.filled.iter().any(|filled| filled["param"] == *name);
        let of_default = agent.parameters.iter().filter_map(|parameter| {
            let ParameterDefault::Default(value) = &parameter.default else { return None };
            let unchanged = steered.params.get(&parameter.name) == Some(value) && !is_empty(value);
            // A default of any type, such as a schema, says nothing to a reader.
            let is_shown = parameter.kind != Type::Prim(Prim::Any);
            (unchanged && is_shown && used(&parameter.name) && !is_filled(&parameter.name))
                .then(|| json!({ "param": parameter.name, "value": value, "unit": parameter.unit }))
        });
        of_default.collect()
    }

    /// Returns what a reader may do: look at the gravest findings, mend what failed, give what was left out.
    fn next_steps(&self, agent: &Agent) -> Vec<String> {
        let mut steps = Vec::new();
        for part in &self.parts {
            let Value::Array(items) = &part.value else { continue };
            let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let grave = items.iter().filter(|item| matches!(text(item, "severity").as_str(), "critical" | "high"));
            for item in grave.take(MAX_FINDINGS) {
                let (place, message) = (text(item, "location"), text(item, "message"));
                let place = if place.is_empty() { text(item, "header") } else { place };
                let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
                if !message.is_empty() {
                    steps.push(format!("Look into the {} finding{place}: {message}", text(item, "severity")));
                }
            }
        }
        steps.truncate(MAX_FINDINGS);
        steps.extend(self.advised.iter().cloned());
        steps.extend(self.failed.iter().map(|failed| format!("Mend the input of the failed step {failed}")));
        for skipped in &self.skipped {
            if let Some((step, rest)) = skipped.split_once(": $params.")
                && let Some(name) = rest.strip_suffix(" is empty")
            {
                // The agent's data says it better, or it was said.
                let named = format!("`{name}`");
                if steps.iter().any(|step| step.contains(&named)) {
                    continue;
                }
                let wanted = needs::for_report(agent, name).unwrap_or_else(|| format!("`{name}`"));
                let engine = agent.plan.iter().find(|planned| step.starts_with(&format!("{} (", planned.name)));
                // It ran on other inputs: the agent's own sentences say what more it may do.
                let is_done = |id: &str| self.uses.iter().any(|used| used.engine_step.engine == id);
                if engine.is_some_and(|planned| is_done(planned.engine.id)) {
                    continue;
                }
                let what = engine.map_or(step, |planned| planned.engine.name);
                steps.push(format!("Give {wanted} to have this as well: {what}"));
            }
        }
        steps.truncate(MAX_NEXT_STEPS);
        steps
    }

    pub(super) fn empty() -> Self {
        Self {
            uses: Vec::new(),
            parts: Vec::new(),
            key_points: Vec::new(),
            advised: Vec::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
            failed: Vec::new(),
            filled: Vec::new(),
            defaults: Vec::new(),
            unused: Vec::new(),
            focus: Vec::new(),
            next_steps: Vec::new(),
        }
    }

    fn of_plan(agent: &'a Agent, view: &'a TaskView, past: &[HistoryStep<'a>], steered: &SteeredParams) -> Self {
        let progress = plan::progress(agent, view, past, steered);
        let scope = progress.scope(view, steered);
        let mut material = Self::empty();
        for section in &agent.writeup {
            let source = match &section.from.head {
                Head::Step { name, .. } => {
                    let step = progress.outputs.iter().find(|(step, _)| step.name == *name);
                    let Some((_, engine_step)) = step.filter(|(_, done)| done.error.is_none()) else { continue };
                    source_of(agent, name, &engine_step.label())
                }
                Head::Param(_) => "params".to_owned(),
                Head::Task | Head::Now => "the task".to_owned(),
            };
            material.parts.push(Part {
                title: section.title.clone(),
                source,
                value: section.value(&scope),
                none: section.none.clone(),
                kind: section.kind.clone(),
                unit: section.unit.clone(),
            });
        }
        let said =
            |rows: &[Advice]| rows.iter().filter_map(|advice| advice.text(&scope)).take(MAX_NEXT_STEPS).collect();
        material.key_points = said(&agent.key_points);
        material.advised = said(&agent.next_steps);
        let skipped = progress.skipped.iter();
        let skipped = skipped
            .map(|(step, reason)| format!("{} (q{} {}): {reason}", step.name, step.engine.number, step.engine.id));
        material.skipped = skipped.collect();
        drop(scope);
        material.uses = progress
            .outputs
            .into_iter()
            .map(|(step, engine_step)| Use { name: step.name.clone(), engine_step })
            .collect();
        material
    }

    fn of_calls(agent: &'a Agent, past: &[HistoryStep<'a>]) -> Self {
        let mut material = Self::empty();
        for past in past {
            if let HistoryStep::Engine(engine_step) = past
                && engine_step.agent == agent.id
            {
                material.add(agent, engine_step);
            }
        }
        material
    }

    fn add(&mut self, agent: &Agent, engine_step: &EngineStep<'a>) {
        if engine_step.error.is_none() {
            let engine = agent.engine(engine_step.engine);
            let title = engine.map_or(engine_step.engine, |engine| engine.name);
            self.parts.push(Part {
                title: title.to_owned(),
                source: engine_step.label(),
                value: engine_step.output.clone(),
                none: String::new(),
                kind: outputs(engine),
                unit: String::new(),
            });
        }
        self.uses.push(Use { name: engine_step.name.to_owned(), engine_step: engine_step.clone() });
    }

    /// Adds the outputs of previous agents under unused names.
    fn inherit(&mut self, agent: &Agent, past: &[HistoryStep<'a>]) {
        for past in past {
            let HistoryStep::Engine(engine_step) = past else { continue };
            let known = self.uses.iter().any(|used| std::ptr::eq(used.engine_step.output, engine_step.output));
            if engine_step.agent == agent.id || known {
                continue;
            }
            let taken: HashSet<&str> = self.uses.iter().map(|used| used.name.as_str()).collect();
            let name = if taken.contains(engine_step.name) {
                format!("{}/{}", engine_step.agent, engine_step.name)
            } else {
                engine_step.name.to_owned()
            };
            if engine_step.error.is_none() {
                let title = format!("{} (by {})", engine_step.engine, engine_step.agent);
                self.parts.push(Part {
                    title,
                    source: engine_step.label(),
                    value: engine_step.output.clone(),
                    none: String::new(),
                    kind: Type::Prim(Prim::Any),
                    unit: String::new(),
                });
            }
            self.uses.push(Use { name, engine_step: engine_step.clone() });
        }
    }

    /// Returns the distinct labels of the engines, in the order of their first use.
    pub(super) fn engines(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for label in self.uses.iter().map(|used| used.engine_step.label()) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }
}

/// Names the engines of a step's values: of a program of the plan those that it arranges.
fn source_of(agent: &Agent, name: &str, label: &str) -> String {
    let planned = |name: &str| agent.plan.iter().find(|step| step.name == name);
    let Some(program) = planned(name).filter(|step| step.engine.id == "json-transform") else {
        return label.to_owned();
    };
    let mut sources: Vec<String> = Vec::new();
    for reference in program.bind.iter().flat_map(|(_, binding)| binding.references()) {
        if let Head::Step { name, .. } = &reference.head
            && let Some(step) = planned(name).filter(|step| step.engine.id != program.engine.id)
        {
            let source = format!("q{} {}", step.engine.number, step.engine.id);
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
    }
    if sources.is_empty() { label.to_owned() } else { format!("{}, arranged by {label}", sources.join(", ")) }
}

/// The outputs of an engine as a record.
fn outputs(engine: Option<&'static Engine>) -> Type {
    let Some(engine) = engine else { return Type::Prim(Prim::Any) };
    let member = |field: &muster_engines::grammar::Field| Member {
        name: field.name.clone(),
        kind: field.kind.clone(),
        optional: true,
        unit: field.unit.clone(),
    };
    Type::Record(engine.fields().outputs.iter().map(member).collect())
}
