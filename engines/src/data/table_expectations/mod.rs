//! q116: Data quality rules.

mod arguments;
mod checks;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::call;
use crate::{Context, Engine, Failure, Family, Nature};

pub static ENGINE: Engine = Engine {
    number: 116,
    id: "table-expectations",
    name: "Data quality rules",
    family: Family::Data,
    nature: Nature::Pure,
    summary: "Check a table against declared expectations (not null, unique, range, regex, set, foreign key, freshness) and score it.",
    inputs: &[
        "rows:array<any>:-:required",
        "rules:array<{column=string,check=enum(not-null|unique|range|regex|in-set|type|foreign-key|freshness|row-count),args?=any,severity?=enum(warn|error)}>:-:required",
    ],
    outputs: &[
        "passed:boolean:-",
        "score:number:-[0..1]",
        "results:array<{rule=integer,passed=boolean,failed_rows=integer,share=number,examples=array<integer>}>:-",
    ],
    method: "Single pass column evaluation, failing row indexes capped at 20.",
    reference: "ISO/IEC 25012:2008 data quality model; Great Expectations expectation gallery semantics",
    example: r#"{
        "rows": [
            {"id": 1, "country": "NO", "age": 34, "seen": "2026-11-20T08:00:00Z"},
            {"id": 2, "country": "XX", "age": 151, "seen": "2026-11-18T08:00:00Z"},
            {"id": 2, "country": "SE", "age": null, "seen": "2026-11-19T08:00:00Z"}
        ],
        "rules": [
            {"column": "id", "check": "unique"},
            {"column": "country", "check": "in-set", "args": ["NO", "SE", "DK"]},
            {"column": "age", "check": "range", "args": {"min": 0, "max": 120}},
            {"column": "age", "check": "not-null", "args": {"mostly": 0.5}, "severity": "warn"},
            {"column": "seen", "check": "freshness", "args": {"reference": "2026-11-21T00:00:00Z", "max_age": "P1D"}}
        ]
    }"#,
    function: |input, context| call(judge, input, context),
    fields: OnceLock::new(),
};

/// Maximum number of row indices reported per rule.
const MAX_EXAMPLES: usize = 20;
/// Maximum number of values checked per call: rows times rules.
const MAX_VALUES: usize = 10_000_000;

#[derive(Deserialize)]
struct Input {
    rows: Vec<Value>,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    column: String,
    check: Kind,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    severity: Severity,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    NotNull,
    Unique,
    Range,
    Regex,
    InSet,
    Type,
    ForeignKey,
    Freshness,
    RowCount,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    /// Lowers the score but does not fail the table.
    Warn,
    #[default]
    Error,
}

#[derive(Serialize)]
struct Output {
    passed: bool,
    /// Mean over the rules of the share of passing rows.
    score: f64,
    results: Vec<Outcome>,
}

#[derive(Serialize)]
struct Outcome {
    rule: usize,
    passed: bool,
    failed_rows: usize,
    /// Share of failing rows; 0 or 1 for a rule on the whole table.
    share: f64,
    examples: Vec<usize>,
}

type Row = Map<String, Value>;

/// Rows that fail one rule.
#[derive(Default)]
struct Broken {
    count: usize,
    /// Number of rows checked; rows without a value only count for `not-null`.
    of: usize,
    examples: Vec<usize>,
}

impl Broken {
    fn see(&mut self, row: usize, good: bool) {
        self.of = self.of.saturating_add(1);
        if !good {
            self.count = self.count.saturating_add(1);
            if self.examples.len() < MAX_EXAMPLES {
                self.examples.push(row);
            }
        }
    }
}

fn judge(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.rows.len().saturating_mul(input.rules.len()) > MAX_VALUES {
        return Err(Failure::too_large(format!("rows times rules are more than {MAX_VALUES}: check fewer at once")));
    }
    let rows = objects(&input.rows)?;
    let mut results = Vec::with_capacity(input.rules.len());
    for (index, rule) in input.rules.iter().enumerate() {
        if !matches!(rule.check, Kind::RowCount)
            && !rows.is_empty()
            && !rows.iter().any(|row| row.contains_key(&rule.column))
        {
            context.warn(format!("rule {index}: no row has a column {:?}", rule.column));
        }
        results.push(outcome(index, rule, &rows)?);
    }
    let failed = |(rule, outcome): (&Rule, &Outcome)| rule.severity == Severity::Error && !outcome.passed;
    let kept: f64 = results.iter().map(|outcome| 1.0 - outcome.share).sum();
    Ok(Output {
        passed: !input.rules.iter().zip(&results).any(failed),
        score: if results.is_empty() { 1.0 } else { (kept / results.len() as f64).clamp(0.0, 1.0) },
        results,
    })
}

fn objects(rows: &[Value]) -> Result<Vec<&Row>, Failure> {
    let object = |(index, row): (usize, &'_ Value)| match row {
        Value::Object(_) => Ok(()),
        _ => Err(Failure::invalid(&["rows", &index.to_string()], "must be an object of columns")),
    };
    rows.iter().enumerate().try_for_each(object)?;
    Ok(rows.iter().filter_map(Value::as_object).collect())
}

fn outcome(index: usize, rule: &Rule, rows: &[&Row]) -> Result<Outcome, Failure> {
    let wrong = |message: String| Failure::invalid(&["rules", &index.to_string(), "args"], message);
    let mostly = arguments::mostly(&rule.args).map_err(wrong)?;
    if let Kind::RowCount = rule.check {
        let passed = arguments::count(&rule.args).map_err(wrong)?.contains(rows.len() as f64);
        return Ok(Outcome {
            rule: index,
            passed,
            failed_rows: 0,
            share: if passed { 0.0 } else { 1.0 },
            examples: vec![],
        });
    }
    let broken = checks::broken(rule, rows).map_err(wrong)?;
    let share = |of: usize| if of == 0 { 0.0 } else { broken.count as f64 / of as f64 };
    Ok(Outcome {
        rule: index,
        // The tolerance is for `mostly: 0.9` and one row of ten, which floating point computes as 0.09999999999999998.
        passed: 1.0 - share(broken.of) >= mostly - 1e-12,
        failed_rows: broken.count,
        share: share(rows.len()),
        examples: broken.examples,
    })
}
