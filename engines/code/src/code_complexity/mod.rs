//! q190: code complexity.

mod function;
mod halstead;
mod kinds;
mod measure;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::syntax;
use muster_engine::prelude::*;

/// Maximum number of functions in one source.
const MAX_FUNCTIONS: usize = 10_000;
/// Measures for which a limit may be set.
const MEASURES: [&str; 5] = ["cognitive", "cyclomatic", "lines", "nesting", "parameters"];

#[derive(Input)]
pub struct Input {
    source: String,
    language: String,
    limits: BTreeMap<String, f64>,
}

#[derive(Output)]
pub struct Output {
    functions: Vec<Function>,
    /// Of the whole source.
    halstead: BTreeMap<&'static str, f64>,
    /// Of the whole source.
    maintainability: f64,
    /// Worst first, by the ratio of a measure to its limit.
    over_limit: Vec<String>,
}

#[derive(Default, Output)]
struct Function {
    name: String,
    /// Its first line, from 1.
    start: usize,
    lines: usize,
    /// Without named inner functions, which have their own entries.
    cyclomatic: usize,
    /// Including inner functions.
    cognitive: usize,
    /// Maximum nesting depth of control structures.
    nesting: usize,
    parameters: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    for name in input.limits.keys() {
        if !MEASURES.contains(&name.as_str()) {
            let known = MEASURES.join(", ");
            return Err(Failure::invalid(&["limits", name], format!("is not a measure: use one of {known}")));
        }
    }
    let (language, tree) = syntax::choose(&input.source, &input.language, None, context)?;
    let errors = syntax::errors(&tree).count;
    if errors > 0 {
        context.warn(format!("{errors} places could not be read as {}: the measures leave them out", language.name()));
    }
    let mut measured = measure::measure(&tree, &input.source, language);
    if measured.functions.len() > MAX_FUNCTIONS {
        context.warn(format!("only the first {MAX_FUNCTIONS} functions are reported"));
        measured.functions.truncate(MAX_FUNCTIONS);
    }
    let halstead = measured.halstead.measures();
    let volume = halstead.get("volume").copied().unwrap_or_default();
    Ok(Output {
        maintainability: maintainability(volume, measured.decisions + 1, measured.lines),
        over_limit: over_limit(&measured.functions, &input.limits),
        functions: measured.functions,
        halstead,
    })
}

/// Oman and Hagemeister 1992, on the scale of 0 to 100.
fn maintainability(volume: f64, cyclomatic: usize, lines: usize) -> f64 {
    let logs = 5.2 * volume.max(1.0).ln() + 16.2 * (lines.max(1) as f64).ln();
    ((171.0 - logs - 0.23 * cyclomatic as f64) * 100.0 / 171.0).clamp(0.0, 100.0)
}

fn over_limit(functions: &[Function], limits: &BTreeMap<String, f64>) -> Vec<String> {
    let mut over: Vec<(f64, String)> = Vec::new();
    for function in functions {
        for (name, &limit) in limits {
            let value = match name.as_str() {
                "cognitive" => function.cognitive,
                "cyclomatic" => function.cyclomatic,
                "lines" => function.lines,
                "nesting" => function.nesting,
                _ => function.parameters,
            } as f64;
            if value > limit {
                let text = format!("{} (line {}): {name} {value} > {limit}", function.name, function.start);
                over.push((if limit > 0.0 { value / limit } else { f64::INFINITY }, text));
            }
        }
    }
    over.sort_by(|a, b| b.0.total_cmp(&a.0));
    over.into_iter().map(|(_, text)| text).collect()
}
