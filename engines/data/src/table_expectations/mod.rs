//! q116: Data quality rules.

mod arguments;
mod checks;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use muster_engine::prelude::*;

/// Maximum number of row indices reported per rule.
const MAX_EXAMPLES: usize = 20;
/// Maximum number of values checked per call: rows times rules.
const MAX_VALUES: usize = 10_000_000;

#[derive(Input)]
pub struct Input {
    rows: Vec<Value>,
    rules: Vec<Rule>,
}

#[derive(Input)]
struct Rule {
    column: String,
    check: Kind,
    args: Option<Value>,
    severity: Option<Severity>,
}

impl Rule {
    fn arguments(&self) -> &Value {
        self.args.as_ref().unwrap_or(&Value::Null)
    }
}

#[derive(Clone, Copy, Words)]
#[wire(case = "kebab")]
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

#[derive(Clone, Copy, Default, PartialEq, Words)]
#[wire(case = "lower")]
enum Severity {
    /// Lowers the score but does not fail the table.
    Warn,
    #[default]
    Error,
}

#[derive(Output)]
pub struct Output {
    passed: bool,
    /// Mean over the rules of the share of passing rows.
    score: f64,
    results: Vec<Outcome>,
}

#[derive(Output)]
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

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
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
    let failed =
        |(rule, outcome): (&Rule, &Outcome)| rule.severity.unwrap_or_default() == Severity::Error && !outcome.passed;
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
    let mostly = arguments::mostly(rule.arguments()).map_err(wrong)?;
    if let Kind::RowCount = rule.check {
        let passed = arguments::count(rule.arguments()).map_err(wrong)?.contains(rows.len() as f64);
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
