//! Published and independently computed cases.
//!
//! `cases/<id>.toml`:
//! ```toml
//! tolerance = 1e-9            # of all cases; absolute
//! relative = 0.0              # share of the expected number; the wider of both holds
//!
//! [[case]]
//! name = "what it shows"
//! source = "Osczevski & Bluestein 2005"
//! locator = "table 1, -10 °C and 20 km/h"
//! input = { temperature = -10, wind_speed = 20 }      # a table, JSON as a text, or a file: { file = "iris.json" }
//! expect = { wind_chill = -17.9 }                     # part of the output; JSON as a text may hold null: do not care
//! tolerance = 0.05
//! match = { rows = "id" }                             # rows are found by their `id`
//!
//! [[case]]
//! name = "an unbounded problem has no answer"
//! source = "by definition"
//! locator = ""
//! input = '{"rows": []}'
//! failure = "no_answer:infeasible"    # or invalid, invalid:<path.of.the.field>, too_large, outside, not_found, …
//! ```

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::run;
use crate::vector::Vector;
use crate::{Engine, Failure, FamilyEngines};

/// Cases that an engine needs at least.
const LEAST: usize = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tolerance: Option<f64>,
    relative: Option<f64>,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    source: String,
    locator: String,
    input: toml::Value,
    expect: Option<toml::Value>,
    failure: Option<String>,
    tolerance: Option<f64>,
    relative: Option<f64>,
    #[serde(default, rename = "match")]
    keys: HashMap<String, String>,
}

/// A case of an engine.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) input: Value,
    expect: Result<Vector, String>,
}

/// Reads the cases of an engine; none if there is no file.
pub(super) fn cases(engine: &Engine, folder: &Path) -> Vec<Known> {
    let path = folder.join(format!("{}.toml", engine.id));
    let Ok(text) = std::fs::read_to_string(&path) else { return Vec::new() };
    let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let known = |case: Case| {
        assert!(!case.source.is_empty(), "{}: {} has no source", path.display(), case.name);
        let expect = match (case.expect, case.failure) {
            (Some(expect), None) => Ok(Vector {
                engine: engine.id.to_owned(),
                input: Value::Null,
                expect: json(expect, folder),
                tolerance: case.tolerance.or(file.tolerance).unwrap_or(1e-9),
                relative: case.relative.or(file.relative).unwrap_or(0.0),
                keys: case.keys,
            }),
            (None, Some(failure)) => Err(failure),
            _ => panic!("{}: {} needs either `expect` or `failure`", path.display(), case.name),
        };
        Known {
            name: format!("{} ({} {})", case.name, case.source, case.locator),
            input: json(case.input, folder),
            expect,
        }
    };
    file.case.into_iter().map(known).collect()
}

/// A table, JSON as a text, or `{file}` beside the cases.
fn json(value: toml::Value, folder: &Path) -> Value {
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    match &value {
        toml::Value::String(text) => parse(text),
        toml::Value::Table(table) if table.len() == 1 && table.contains_key("file") => {
            let path = folder.join(table["file"].as_str().unwrap());
            parse(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        }
        _ => plain(value),
    }
}

fn plain(value: toml::Value) -> Value {
    match value {
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(plain).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(name, item)| (name, plain(item))).collect()),
        other => serde_json::to_value(other).unwrap(),
    }
}

/// Fails if an engine has fewer than two cases or does not reproduce one. Those of `in_code` have their cases beside
/// their code.
pub fn cases_hold(family: &'static FamilyEngines, folder: &Path, in_code: &[u16]) {
    let mut wrong = Vec::new();
    for engine in family.engines() {
        let known = cases(engine, folder);
        if known.len() < LEAST && !in_code.contains(&engine.number) {
            wrong.push(format!("{}: {} cases in cases/{0}.toml, {LEAST} are needed", engine.id, known.len()));
        }
        for case in known {
            let outcome = run(engine, case.input);
            let mismatches = match (case.expect, outcome) {
                (Ok(vector), Ok(output)) => vector.mismatches(&output),
                (Ok(_), Err(failure)) => vec![format!("{}: {failure:?}", engine.id)],
                (Err(expected), Ok(output)) => vec![format!("{}: {output} in place of {expected}", engine.id)],
                (Err(expected), Err(failure)) if is(&failure, &expected) => Vec::new(),
                (Err(expected), Err(failure)) => vec![format!("{}: {failure:?} in place of {expected}", engine.id)],
            };
            wrong.extend(mismatches.into_iter().map(|mismatch| format!("{mismatch}: {}", case.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn is(failure: &Failure, expected: &str) -> bool {
    let (kind, detail) = expected.split_once(':').map_or((expected, None), |(kind, detail)| (kind, Some(detail)));
    let tag = serde_json::to_value(failure).unwrap()["failure"].as_str().unwrap_or_default().to_owned();
    let fits = |detail: &str| match failure {
        Failure::NoAnswer { reason, .. } => reason.code() == detail,
        Failure::Invalid { problems } => problems.iter().any(|problem| problem.loc.join(".") == detail),
        _ => false,
    };
    tag == kind && detail.is_none_or(fits)
}
