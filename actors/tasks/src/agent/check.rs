//! Validates one agent: parameters, toolbox, every binding of its plan, write-up.

use std::collections::HashSet;

use muster_engines::Engine;
use muster_engines::grammar::{self, Field, Need, assignable};
use serde_json::Value;

use super::advice::{Advice, AdviceRow};
use super::agents::{Agent, PlanStep, Section};
use super::arrange::Arrangement;
use super::binding::Binding;
use super::bounds;
use super::catalogue::AvailableEngines;
use super::parameter::{Parameter, ParameterDefault};
use super::reference::{Head, Known, Reference, is_name};
use super::rows::{AgentRow, SectionRow, StepRow};

/// Allowed numbers of steps in a plan.
const STEPS: std::ops::RangeInclusive<usize> = 0..=24;

pub(super) fn agent(row: &AgentRow, built: &AvailableEngines) -> Result<Agent, Vec<String>> {
    let mut check = Check { row, built, mistakes: Vec::new(), used: HashSet::new() };
    check.texts();
    let parameters = check.parameters();
    let toolbox = check.toolbox();
    // References to a step with an unknown engine would only produce follow-up errors.
    if row.plan.iter().any(|step| built.get(&step.engine).is_none()) {
        check.without_engine();
        return Err(check.mistakes);
    }
    let mut plan = check.plan(&parameters);
    let writeup = check.writeup(&parameters, &plan);
    let mut parameters = parameters;
    let disagreements = bounds::apply(&mut parameters, &mut plan);
    disagreements.into_iter().for_each(|problem| check.report(problem));
    let key_points = check.advice(&row.key_points, &parameters, &plan);
    let next_steps = check.advice(&row.next_steps, &parameters, &plan);
    check.unused(&parameters, &plan);
    if !check.mistakes.is_empty() {
        return Err(check.mistakes);
    }
    Ok(Agent {
        id: row.id.clone(),
        name: row.name.clone(),
        category: row.category.clone(),
        summary: row.summary.clone(),
        capabilities: row.capabilities.clone(),
        parameters,
        one_of: row.one_of.clone(),
        toolbox,
        system_prompt: row.system_prompt.clone(),
        plan,
        writeup,
        key_points,
        next_steps,
    })
}

struct Check<'a> {
    row: &'a AgentRow,
    built: &'a AvailableEngines,
    mistakes: Vec<String>,
    /// Names of parameters, and of steps as `step.`, to which something refers.
    used: HashSet<String>,
}

/// Parameters and earlier steps to which a step of the plan may refer.
struct StepContext<'a> {
    parameters: &'a [Parameter],
    steps: Vec<(&'a str, &'static Engine)>,
    /// Earlier steps that may be skipped.
    guarded: HashSet<&'a str>,
}

impl<'a> Check<'a> {
    fn report(&mut self, problem: impl std::fmt::Display) {
        self.mistakes.push(format!("agent {}: {problem}", self.row.id));
    }

    fn texts(&mut self) {
        let row = self.row;
        let kebab = |id: &str| {
            id.starts_with(|c: char| c.is_ascii_lowercase())
                && id.split('-').all(|part| !part.is_empty())
                && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        if !kebab(&row.id) {
            self.report("its id is not in kebab-case");
        }
        for (what, text) in [("name", &row.name), ("summary", &row.summary), ("system_prompt", &row.system_prompt)] {
            if text.trim().is_empty() {
                self.report(format_args!("its {what} is empty"));
            }
        }
        if row.capabilities.is_empty() {
            self.report("it has no capability");
        }
        if row.writeup.is_empty() {
            self.report("its write-up has no section");
        }
    }

    fn parameters(&mut self) -> Vec<Parameter> {
        let mut parameters: Vec<Parameter> = Vec::new();
        for text in &self.row.parameters {
            match Parameter::parse(text) {
                Ok(parameter) if parameters.iter().any(|other| other.name == parameter.name) => {
                    self.report(format_args!("the parameter {} is defined twice", parameter.name));
                }
                Ok(mut parameter) => {
                    self.default(&parameter, &parameters);
                    let words = self.row.words.get(&parameter.name).map(Vec::as_slice).unwrap_or_default();
                    if let Err(mistake) = parameter.add_words(words) {
                        self.report(format_args!("`words` of {}: {mistake}", parameter.name));
                    }
                    parameters.push(parameter);
                }
                Err(mistake) => self.report(mistake),
            }
        }
        for name in self.row.one_of.iter().flatten() {
            match parameters.iter().find(|parameter| parameter.name == *name) {
                None => self.report(format_args!("`one_of` names {name}, which is not a parameter")),
                Some(parameter) if parameter.default == ParameterDefault::Required => {
                    self.report(format_args!("`one_of` names {name}, which is required"));
                }
                Some(_) => {}
            }
        }
        for name in self.row.words.keys().filter(|name| parameters.iter().all(|parameter| parameter.name != **name)) {
            self.report(format_args!("`words` names {name}, which is not a parameter"));
        }
        parameters
    }

    /// Checks the references of a default: they name the instruction and parameters before it.
    fn default(&mut self, parameter: &Parameter, before: &[Parameter]) {
        let ParameterDefault::Bound(binding, _) = &parameter.default else { return };
        let at = format!("parameter {}, its default", parameter.name);
        for reference in binding.references() {
            if matches!(reference.head, Head::Step { .. } | Head::Now) {
                self.report(format_args!("{at}: {reference} is neither $task nor a parameter"));
                continue;
            }
            let known = StepContext { parameters: before, steps: Vec::new(), guarded: HashSet::new() };
            let Some(kind) = self.resolve(reference, &known, &at) else { continue };
            if let (Binding::Reference(_), Some(problem)) = (binding, assignable(&kind, &parameter.kind)) {
                self.report(format_args!("{at}: {reference} does not fit: {problem}"));
            }
        }
    }

    fn toolbox(&mut self) -> Vec<&'static Engine> {
        let row = self.row;
        let mut seen = HashSet::new();
        for id in &row.engines {
            if !seen.insert(id.as_str()) {
                self.report(format_args!("its toolbox has {id} twice"));
            }
            let in_plan = row.plan.iter().any(|step| step.engine == *id);
            if self.built.get(id).is_none() && self.built.feature(id).is_none() && !in_plan {
                self.report(format_args!("its toolbox has {id:?}, which is not an engine"));
            }
        }
        row.engines.iter().filter_map(|id| self.built.get(id)).collect()
    }

    fn without_engine(&mut self) {
        let row = self.row;
        let unknown = |id: &str| self.built.get(id).is_none() && self.built.feature(id).is_none();
        let unknown: Vec<_> = row.plan.iter().filter(|step| unknown(&step.engine)).collect();
        for step in unknown {
            self.report(format_args!("step {}: {:?} is not an engine", step.name, step.engine));
        }
    }

    fn plan(&mut self, parameters: &[Parameter]) -> Vec<PlanStep> {
        let row = self.row;
        if !STEPS.contains(&row.plan.len()) {
            self.report(format_args!(
                "its plan has {} steps, not {} to {}",
                row.plan.len(),
                STEPS.start(),
                STEPS.end()
            ));
        }
        // A required parameter is never empty, nor are all of a set: such a condition is for values out of range.
        let required = |when: &str| {
            let name = when.strip_prefix("$params.").unwrap_or_default();
            row.one_of.iter().flatten().any(|one| one == name)
                || parameters.iter().any(|param| param.name == name && param.default == ParameterDefault::Required)
        };
        if !row.plan.is_empty() && row.plan.iter().all(|step| step.when.as_deref().is_some_and(|when| !required(when)))
        {
            self.report("every step of its plan may be skipped");
        }
        let mut before = StepContext { parameters, steps: Vec::new(), guarded: HashSet::new() };
        let mut plan = Vec::new();
        for step in &row.plan {
            plan.extend(self.step(step, &mut before));
        }
        plan
    }

    fn step<'p>(&mut self, row: &'a StepRow, before: &mut StepContext<'p>) -> Option<PlanStep>
    where
        'a: 'p,
    {
        let at = format!("step {}", row.name);
        if !is_name(&row.name) {
            self.report(format_args!("{at}: it is not a valid name (lower-case letters, digits, underscores)"));
        }
        if before.steps.iter().any(|(name, _)| *name == row.name) {
            self.report(format_args!("{at}: it is defined twice"));
        }
        let engine = self.built.get(&row.engine)?;
        if !self.row.engines.contains(&row.engine) {
            self.report(format_args!("{at}: {} is not in its toolbox", row.engine));
        }
        let when = row.when.as_deref().and_then(|text| self.reference(text, before, &at));
        for field in &engine.fields().inputs {
            if field.need == Need::Required && !row.bind.contains_key(&field.name) {
                self.report(format_args!("{at}: {} needs the input {}, which is not bound", engine.id, field.name));
            }
        }
        let inputs = row
            .bind
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), self.input(row, engine, name, value, before)?)));
        let bind = inputs.collect();
        before.steps.push((&row.name, engine));
        if row.when.is_some() {
            before.guarded.insert(&row.name);
        }
        Some(PlanStep { name: row.name.clone(), engine, bind, when })
    }

    fn reference(&mut self, text: &str, before: &StepContext<'_>, at: &str) -> Option<Reference> {
        let reference = Reference::parse(text).map_err(|mistake| self.report(format_args!("{at}: {mistake}"))).ok()?;
        self.resolve(&reference, before, at).map(|_| reference)
    }

    /// Returns the type of a reference, and marks it as used.
    fn resolve(&mut self, reference: &Reference, before: &StepContext<'_>, at: &str) -> Option<grammar::Type> {
        match &reference.head {
            Head::Param(name) => self.used.insert(name.clone()),
            Head::Step { name, .. } => self.used.insert(format!("{name}.")),
            Head::Task | Head::Now => false,
        };
        let known = Known { params: before.parameters, steps: &before.steps };
        reference.kind(known).map_err(|mistake| self.report(format_args!("{at}: {mistake}"))).ok()
    }

    fn input(
        &mut self,
        row: &StepRow,
        engine: &'static Engine,
        name: &str,
        value: &Value,
        before: &StepContext<'_>,
    ) -> Option<Binding> {
        let at = format!("step {}, input {name}", row.name);
        let Some(field) = engine.fields().inputs.iter().find(|field| field.name == name) else {
            let has: Vec<&str> = engine.fields().inputs.iter().map(|field| field.name.as_str()).collect();
            self.report(format_args!("{at}: {} has no such input; it has {}", engine.id, has.join(", ")));
            return None;
        };
        let binding = Binding::parse(value).map_err(|mistake| self.report(format_args!("{at}: {mistake}"))).ok()?;
        match &binding {
            Binding::Reference(reference) => self.bound(row, field, reference, before, &at),
            Binding::First(references) => {
                let (last, others) = references.split_last()?;
                let fits = |kind: grammar::Type| assignable(&kind, &field.kind);
                for reference in others {
                    if let Some(problem) = self.resolve(reference, before, &at).and_then(fits) {
                        self.report(format_args!("{at}: {reference} does not fit: {problem}"));
                    }
                }
                self.bound(row, field, last, before, &at);
            }
            Binding::Literal(value) => {
                for problem in grammar::check(&field.kind, field.range, value) {
                    let place = problem.loc.join(".");
                    self.report(format_args!("{at}: the literal {value} {place} {}", problem.message));
                }
            }
            nested => {
                for reference in nested.references() {
                    self.resolve(reference, before, &at);
                }
            }
        }
        Some(binding)
    }

    fn bound(&mut self, row: &StepRow, field: &Field, reference: &Reference, before: &StepContext<'_>, at: &str) {
        let Some(kind) = self.resolve(reference, before, at) else { return };
        if let Some(problem) = assignable(&kind, &field.kind) {
            self.report(format_args!("{at}: {reference} does not fit: {problem}"));
        }
        if field.need != Need::Required || row.when.is_some() {
            return;
        }
        match &reference.head {
            Head::Param(name)
                if before
                    .parameters
                    .iter()
                    .any(|param| param.name == *name && param.default == ParameterDefault::Optional) =>
            {
                self.report(format_args!("{at}: it is required, and {reference} may be null: add `when`"));
            }
            Head::Step { name, .. } if before.guarded.contains(name.as_str()) => {
                self.report(format_args!("{at}: it is required, and the step {name} may be skipped: add `when`"));
            }
            _ => {}
        }
    }

    fn writeup(&mut self, parameters: &[Parameter], plan: &[PlanStep]) -> Vec<Section> {
        let row = self.row;
        let steps = plan.iter().map(|step| (step.name.as_str(), step.engine)).collect();
        let before = StepContext { parameters, steps, guarded: HashSet::new() };
        let section = |section: &SectionRow| {
            let at = format!("section {:?}", section.title);
            let from = self.reference(&section.from, &before, &at)?;
            let kind = self.resolve(&from, &before, &at)?;
            let unit = bounds::unit_of(&from, parameters, plan).unwrap_or_default();
            let none = section.none.clone().unwrap_or_default();
            let (arrangement, kind) = self.arrangement(section, kind, &before, &at)?;
            Some(Section { title: section.title.clone(), from, none, arrangement, kind, unit })
        };
        row.writeup.iter().filter_map(section).collect()
    }

    fn arrangement(
        &mut self,
        row: &SectionRow,
        kind: grammar::Type,
        before: &StepContext<'_>,
        at: &str,
    ) -> Option<(Option<Arrangement>, grammar::Type)> {
        if row.join.is_none()
            && row.order.is_none()
            && row.header.is_none()
            && row.labels.is_none()
            && row.zone.is_none()
            && !row.defang
            && row.columns.is_empty()
        {
            return Some((None, kind));
        }
        let mut resolve = |text: &str| {
            let reference = self.reference(text, before, at)?;
            let kind = self.resolve(&reference, before, at)?;
            Some((reference, kind))
        };
        match Arrangement::parse(row, kind, &mut resolve) {
            Ok((arrangement, kind)) => Some((Some(arrangement), kind)),
            Err(mistake) => {
                self.report(format_args!("{at}: {mistake}"));
                None
            }
        }
    }

    fn advice(&mut self, rows: &'a [AdviceRow], parameters: &[Parameter], plan: &[PlanStep]) -> Vec<Advice> {
        let steps = plan.iter().map(|step| (step.name.as_str(), step.engine)).collect();
        let before = StepContext { parameters, steps, guarded: HashSet::new() };
        let mut found = Vec::new();
        for row in rows {
            let mut resolve = |text: &str| {
                let reference = self.reference(text, &before, "advice")?;
                let kind = self.resolve(&reference, &before, "advice")?;
                let unit = bounds::unit_of(&reference, parameters, plan).unwrap_or_default();
                Some((reference, kind, unit))
            };
            match Advice::parse(row, &mut resolve) {
                Ok(advice) => found.push(advice),
                Err(mistake) => self.report(format_args!("advice: {mistake}")),
            }
        }
        found
    }

    fn unused(&mut self, parameters: &[Parameter], plan: &[PlanStep]) {
        for step in plan {
            if !self.used.contains(&format!("{}.", step.name)) {
                self.report(format_args!("step {}: nothing uses its outputs", step.name));
            }
        }
        for parameter in parameters {
            if !self.used.contains(&parameter.name) {
                self.report(format_args!("nothing uses the parameter {}", parameter.name));
            }
        }
    }
}
