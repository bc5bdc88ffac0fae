//! q61: decisions by policies in Rego.

mod bounds;

use muster_engine::prelude::*;
use muster_engine::stack::{STACK, on_stack};
use regorus::{Engine, LimitError, QueryResult, Value as Rego};

/// Maximum length of policy and query, in bytes.
const MAX_POLICY: usize = 65_536;
/// Maximum length of input and data together, as JSON, in bytes.
const MAX_DOCUMENTS: usize = 1_048_576;
/// Lines of `print` in the output, and characters of each.
const MAX_PRINTS: usize = 1_000;
const MAX_PRINT: usize = 2_000;
/// Name of the policy in messages.
const POLICY: &str = "policy";

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    policy: String,
    query: String,
    input: Value,
    data: Value,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    result: Value,
    allowed: bool,
    prints: Vec<String>,
    coverage: Vec<Line>,
}

#[derive(Debug, Output)]
struct Line {
    line: u32,
    hit: bool,
}

/// Evaluates a query over a policy in Rego v1, an input and data. An error of a built-in function makes its expression
/// undefined, as in OPA.
///
/// # Errors
/// `Invalid` (policy or query cannot be parsed, data is no object, rules contradict one another), `TooLarge` (a document,
/// or the steps of the evaluation).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.policy.len() > MAX_POLICY || input.query.len() > MAX_POLICY {
        return Err(Failure::too_large(format!("policy and query may have {MAX_POLICY} bytes each")));
    }
    for (name, text) in [("policy", &input.policy), ("query", &input.query)] {
        if bounds::is_too_deep(text) {
            return Err(Failure::invalid(&[name], "has brackets that are nested more than 10 deep"));
        }
    }
    let (document, data) = (input.input.to_string(), input.data.to_string());
    if document.len() + data.len() > MAX_DOCUMENTS {
        return Err(Failure::too_large(format!("input and data may have {MAX_DOCUMENTS} bytes together")));
    }
    if !input.data.is_object() {
        return Err(Failure::invalid(&["data"], "must be an object"));
    }
    if !bounds::are_installed() {
        return Err(Failure::internal("the count of steps could not be installed"));
    }
    // The parser and the interpreter recurse; a policy can nest what it builds.
    let fallen = || Failure::invalid(&["policy"], "cannot be evaluated: the interpreter stopped at it");
    let output = on_stack(cx, STACK, fallen, || evaluate(&input, &document, &data))?;
    if output.result.is_null() {
        cx.warn("undefined: the query has no result (or it is null), so nothing is allowed");
    }
    if output.prints.len() > MAX_PRINTS {
        cx.warn(format!("truncated: the first {MAX_PRINTS} of {} prints are listed", output.prints.len()));
    }
    let prints = output.prints.into_iter().take(MAX_PRINTS).map(|line| line.chars().take(MAX_PRINT).collect());
    Ok(Output { prints: prints.collect(), ..output })
}

fn evaluate(input: &Input, document: &str, data: &str) -> Result<Output, Failure> {
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(false);
    engine.set_gather_prints(true);
    engine.set_enable_coverage(true);
    engine.set_execution_timer_config(bounds::STEPS);
    bounds::guard(&mut engine)?;
    engine
        .add_policy(POLICY.to_owned(), input.policy.clone())
        .map_err(|error| refused("policy", &error.to_string()))?;
    engine.add_data_json(data).map_err(|error| refused("data", &error.to_string()))?;
    engine.set_input_json(document).map_err(|error| refused("input", &error.to_string()))?;
    let results = engine.eval_query(input.query.clone(), false).map_err(|error| {
        if error.downcast_ref::<LimitError>().is_some() {
            return bounds::exceeded();
        }
        let message = error.to_string();
        // Messages name the source in which the fault stands.
        refused(if message.contains("<query") { "query" } else { "policy" }, &message)
    })?;
    let result = result_of(&results.result)?;
    Ok(Output {
        allowed: result == Value::Bool(true),
        result,
        prints: engine.take_prints().unwrap_or_default(),
        coverage: coverage(&engine),
    })
}

/// The parser's message, which quotes the line.
fn refused(field: &str, message: &str) -> Failure {
    Failure::invalid(&[field], format!("cannot be evaluated: {}", message.trim()))
}

/// One expression without variables gives its value; several give the values of all; variables give an array of their
/// bindings, one object for each answer. No answer is `null`.
fn result_of(results: &[QueryResult]) -> Result<Value, Failure> {
    let bound = |result: &QueryResult| result.bindings.as_object().is_ok_and(|bindings| !bindings.is_empty());
    if results.iter().any(bound) {
        return results.iter().map(|result| json(&result.bindings)).collect::<Result<_, _>>().map(Value::Array);
    }
    let values: Vec<&Rego> = results.iter().flat_map(|result| &result.expressions).map(|part| &part.value).collect();
    match values.as_slice() {
        [] => Ok(Value::Null),
        [value] => json(value),
        values => values.iter().map(|value| json(value)).collect::<Result<_, _>>().map(Value::Array),
    }
}

/// Sets become arrays in their order, keys that are no text their JSON.
fn json(value: &Rego) -> Result<Value, Failure> {
    if *value == Rego::Undefined {
        return Ok(Value::Null);
    }
    let text = value.to_json_str().map_err(|error| refused("query", &error.to_string()))?;
    serde_json::from_str(&text).map_err(|_| {
        Failure::invalid(&["query"], "has a result that JSON does not have, such as a number beyond 1.8e308")
    })
}

fn coverage(engine: &Engine) -> Vec<Line> {
    let files = engine.get_coverage_report().map(|report| report.files).unwrap_or_default();
    let policy = files.into_iter().filter(|file| file.path == POLICY);
    let mut lines: Vec<Line> = policy
        .flat_map(|file| {
            let hit = file.covered.into_iter().map(|line| Line { line, hit: true });
            hit.chain(file.not_covered.into_iter().map(|line| Line { line, hit: false })).collect::<Vec<_>>()
        })
        .collect();
    lines.sort_by_key(|line| line.line);
    lines
}
