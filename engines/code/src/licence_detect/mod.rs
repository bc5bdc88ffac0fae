//! q196: licence detection by text, licence expressions and conflicts.

mod compatible;
mod expression;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeSet;

use muster_engine::prelude::*;

const MAX_TEXT: usize = 1024 * 1024;
const MAX_EXPRESSION: usize = 10_000;
const MAX_COMPONENTS: usize = 10_000;

#[derive(Input)]
pub struct Input {
    text: Option<String>,
    expression: Option<String>,
    /// Licence expression; if it requires several licences, components must be compatible with each.
    project_licence: Option<String>,
    components: Vec<Component>,
}

#[derive(Input)]
struct Component {
    name: String,
    licence: String,
}

#[derive(Output)]
pub struct Output {
    licence: Option<String>,
    confidence: Option<f64>,
    expression: Option<expression::Described>,
    conflicts: Vec<Conflict>,
    obligations: BTreeSet<String>,
}

#[derive(Output)]
struct Conflict {
    component: String,
    licence: String,
    reason: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    bounded(&input)?;
    let found = input.text.as_deref().map(|text| text::identify(text, context));
    let expression = input.expression.as_deref().map(|text| expression::describe(text, context));
    let project = input.project_licence.as_deref().map(compatible::Project::parse).transpose()?;
    if project.is_none() && !input.components.is_empty() {
        context.warn("not_assessed: project_licence is missing: conflicts are not checked");
    }
    let mut conflicts = Vec::new();
    let mut bound = BTreeSet::new();
    for component in &input.components {
        match expression::parse(&component.licence) {
            Ok(parsed) => {
                bound.extend(compatible::obligations(&parsed));
                if let Some(reason) = project.as_ref().and_then(|project| project.conflict(&parsed)) {
                    conflicts.push(conflict(component, reason));
                }
            }
            Err(error) => {
                conflicts.push(conflict(
                    component,
                    format!("is not an SPDX licence expression ({error}): contact its author"),
                ));
            }
        }
    }
    let (licence, confidence) = found.map_or((None, None), |(licence, confidence)| (licence, Some(confidence)));
    for text in [licence.as_deref(), input.expression.as_deref()].into_iter().flatten() {
        bound.extend(expression::parse(text).iter().flat_map(compatible::obligations));
    }
    Ok(Output { licence, confidence, expression, conflicts, obligations: bound })
}

fn conflict(component: &Component, reason: String) -> Conflict {
    Conflict { component: component.name.clone(), licence: component.licence.clone(), reason }
}

fn bounded(input: &Input) -> Result<(), Failure> {
    if input.text.as_ref().is_some_and(|text| text.len() > MAX_TEXT) {
        return Err(Failure::too_large(format!("a licence's text has at most {MAX_TEXT} bytes")));
    }
    let expressions = input.components.iter().map(|component| &component.licence);
    let long = |text: &String| text.len() > MAX_EXPRESSION;
    if expressions.chain(&input.expression).chain(&input.project_licence).any(long) {
        return Err(Failure::too_large(format!("a licence expression has at most {MAX_EXPRESSION} bytes")));
    }
    if input.components.len() > MAX_COMPONENTS {
        return Err(Failure::too_large(format!("at most {MAX_COMPONENTS} components are compared")));
    }
    Ok(())
}
