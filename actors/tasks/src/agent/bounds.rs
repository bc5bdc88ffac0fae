//! Units and ranges: a parameter has those of the inputs to which it is bound, and references are converted between
//! units.

use muster_engines::grammar::{Prim, Range, Type};
use muster_kernel_words::quantities;

use super::agents::PlanStep;
use super::binding::Binding;
use super::parameter::{Parameter, ParameterDefault};
use super::reference::{Head, Hop, Reference};

/// A place of a plan that takes a value.
struct Target<'a> {
    kind: &'a Type,
    unit: &'a str,
    range: Range,
}

/// Gives each parameter the unit and range of the inputs to which it is bound, and converts references where units
/// differ. Returns what does not agree.
pub(super) fn apply(parameters: &mut [Parameter], plan: &mut [PlanStep]) -> Vec<String> {
    let mut mistakes = Vec::new();
    for parameter in &mut *parameters {
        constrain(parameter, plan, &mut mistakes);
    }
    let known = parameters.to_vec();
    for at in 0..plan.len() {
        let (before, rest) = plan.split_at_mut(at);
        let Some(step) = rest.first_mut() else { continue };
        for (name, binding) in &mut step.bind {
            let Some(field) = step.engine.fields().inputs.iter().find(|field| field.name == *name) else { continue };
            let place = format!("step {}, input {name}", step.name);
            convert(binding, &field.kind, &field.unit, &known, before, &place, &mut mistakes);
        }
    }
    for parameter in parameters {
        let place = format!("parameter {}, its default", parameter.name);
        if let ParameterDefault::Bound(binding, _) = &mut parameter.default {
            convert(binding, &parameter.kind, &parameter.unit, &known, &[], &place, &mut mistakes);
        }
    }
    mistakes
}

fn constrain(parameter: &mut Parameter, plan: &[PlanStep], mistakes: &mut Vec<String>) {
    let (mut needed, mut allowed) = (Vec::new(), Vec::new());
    for step in plan {
        for (name, binding) in &step.bind {
            let Some(field) = step.engine.fields().inputs.iter().find(|field| field.name == *name) else { continue };
            let target = Target { kind: &field.kind, unit: &field.unit, range: field.range };
            let mut take = |reference: &Reference, target: &Target<'_>| {
                if reference.head != Head::Param(parameter.name.clone()) {
                    return;
                }
                let place = format!("step {}, input {name}", step.name);
                if let Some(problem) = adopt(parameter, &reference.hops, target) {
                    mistakes.push(format!("{place}: the parameter {} {problem}", parameter.name));
                }
                if reference.hops.is_empty() {
                    if step.when.is_some() { allowed.push(target.range) } else { needed.push(target.range) }
                }
            };
            visit(binding, &target, &mut take);
        }
    }
    let least = |ranges: &[Range]| ranges.iter().filter_map(|range| range.least).reduce(f64::max);
    let most = |ranges: &[Range]| ranges.iter().filter_map(|range| range.most).reduce(f64::min);
    parameter.range = if needed.is_empty() {
        let all = |bound: fn(&Range) -> Option<f64>| allowed.iter().all(|range| bound(range).is_some());
        let (low, high) = (all(|range| range.least), all(|range| range.most));
        Range {
            least: allowed.iter().filter_map(|range| range.least).reduce(f64::min).filter(|_| low),
            most: allowed.iter().filter_map(|range| range.most).reduce(f64::max).filter(|_| high),
        }
    } else {
        Range { least: least(&needed), most: most(&needed) }
    };
    if let Range { least: Some(least), most: Some(most) } = parameter.range
        && least > most
    {
        mistakes.push(format!("the inputs of the parameter {} have no value in common: add `when`", parameter.name));
    }
    if let ParameterDefault::Default(value) = &parameter.default
        && let Some(problem) = muster_engines::grammar::check(&parameter.kind, parameter.range, value).first()
    {
        mistakes.push(format!("the parameter {}: its default {value} {}", parameter.name, problem.message));
    }
}

/// Calls the function for each reference of a binding with the place that takes its value.
fn visit(binding: &Binding, target: &Target<'_>, take: &mut impl FnMut(&Reference, &Target<'_>)) {
    match binding {
        Binding::Reference(reference) | Binding::Converted { reference, .. } => take(reference, target),
        Binding::First(references) => references.iter().for_each(|reference| take(reference, target)),
        Binding::Literal(_) => {}
        Binding::Array(items) => {
            if let Type::Array(item) = target.kind {
                items.iter().for_each(|binding| visit(binding, &Target { kind: item, ..*target }, take));
            }
        }
        Binding::Object(entries) => {
            for (name, binding) in entries {
                if let Some((kind, unit)) = member(target.kind, name) {
                    visit(binding, &Target { kind, unit, range: Range::default() }, take);
                }
            }
        }
    }
}

/// Returns type and unit of a member.
fn member<'a>(kind: &'a Type, name: &str) -> Option<(&'a Type, &'a str)> {
    match kind {
        Type::Record(members) => {
            members.iter().find(|member| member.name == name).map(|member| (&member.kind, member.unit.as_str()))
        }
        Type::Map(item) => Some((item, "")),
        _ => None,
    }
}

/// Gives the place in a parameter to which the accesses lead the units of a target. Returns what does not agree.
fn adopt(parameter: &mut Parameter, hops: &[Hop], target: &Target<'_>) -> Option<String> {
    let fields: Vec<&str> =
        hops.iter().filter_map(|hop| if let Hop::Field(name) = hop { Some(name.as_str()) } else { None }).collect();
    let Some((last, path)) = fields.split_last() else {
        let unit = set(&mut parameter.unit, target.unit);
        return unit.or_else(|| adopt_members(&mut parameter.kind, target.kind));
    };
    let mut kind = &mut parameter.kind;
    for name in path {
        kind = members(kind)?.iter_mut().find(|member| member.name == **name).map(|member| &mut member.kind)?;
    }
    let member = members(kind)?.iter_mut().find(|member| member.name == **last)?;
    set(&mut member.unit, target.unit).or_else(|| adopt_members(&mut member.kind, target.kind))
}

fn members(kind: &mut Type) -> Option<&mut Vec<muster_engines::grammar::Member>> {
    match kind {
        Type::Array(item) => members(item),
        Type::Record(members) => Some(members),
        _ => None,
    }
}

fn adopt_members(kind: &mut Type, from: &Type) -> Option<String> {
    match (kind, from) {
        (Type::Array(kind), Type::Array(from)) | (Type::Map(kind), Type::Map(from)) => adopt_members(kind, from),
        (Type::Record(members), Type::Record(wanted)) => members.iter_mut().find_map(|member| {
            let from = wanted.iter().find(|from| from.name == member.name)?;
            let problem = set(&mut member.unit, &from.unit).or_else(|| adopt_members(&mut member.kind, &from.kind));
            problem.map(|problem| format!("({}) {problem}", member.name))
        }),
        _ => None,
    }
}

fn set(unit: &mut String, wanted: &str) -> Option<String> {
    if unit.is_empty() {
        wanted.clone_into(unit);
    }
    (!wanted.is_empty() && unit != wanted).then(|| format!("is in {unit} for one input and in {wanted} for this one"))
}

/// Converts the references of a binding whose unit differs from that of the place which takes them.
fn convert(
    binding: &mut Binding,
    kind: &Type,
    unit: &str,
    parameters: &[Parameter],
    before: &[PlanStep],
    place: &str,
    mistakes: &mut Vec<String>,
) {
    match binding {
        Binding::Reference(reference) => {
            let has = unit_of(reference, parameters, before).filter(|has| !has.is_empty());
            let Some(has) = has.filter(|has| !unit.is_empty() && has != unit) else { return };
            match (quantities::unit(&has), quantities::unit(unit)) {
                (Some(from), Some(to)) if from.dimension == to.dimension => {
                    *binding = Binding::Converted { reference: reference.clone(), from, to };
                }
                _ => mistakes.push(format!("{place}: {reference} is in {has}, which does not convert to {unit}")),
            }
        }
        // Alternatives must have the unit, which `constrain` checks for params.
        Binding::First(_) | Binding::Converted { .. } | Binding::Literal(_) => {}
        Binding::Array(items) => {
            if let Type::Array(item) = kind {
                items.iter_mut().for_each(|inner| convert(inner, item, unit, parameters, before, place, mistakes));
            }
        }
        Binding::Object(entries) => {
            for (name, inner) in entries {
                if let Some((kind, unit)) = member(kind, name) {
                    convert(inner, kind, unit, parameters, before, place, mistakes);
                }
            }
        }
    }
}

/// Returns the unit of what a reference names; `None` if it names nothing.
pub(super) fn unit_of(reference: &Reference, parameters: &[Parameter], before: &[PlanStep]) -> Option<String> {
    let (mut kind, mut unit) = match &reference.head {
        Head::Task | Head::Now => return None,
        Head::Param(name) => {
            let parameter = parameters.iter().find(|parameter| parameter.name == *name)?;
            (&parameter.kind, parameter.unit.as_str())
        }
        Head::Step { name, output } => {
            let step = before.iter().find(|step| step.name == *name)?;
            let field = step.engine.fields().outputs.iter().find(|field| field.name == *output)?;
            (&field.kind, field.unit.as_str())
        }
    };
    for hop in &reference.hops {
        match (hop, kind) {
            (Hop::Each, _) => {}
            (Hop::Index(_) | Hop::Last, Type::Array(item)) => kind = item,
            (Hop::Field(name), _) => {
                let mut of = kind;
                while let Type::Array(item) = of {
                    of = item;
                }
                if *of == Type::Prim(Prim::LatLon) {
                    return Some("deg".to_owned());
                }
                (kind, unit) = member(of, name)?;
            }
            _ => return None,
        }
    }
    Some(unit.to_owned())
}
