//! Rejects queries that could run without end, grow without bound, or depend on time or randomness.
//!
//! GlueSQL has no limits and no tree visitor of its own, but its trees are serialisable: they are inspected and changed
//! as JSON.

use gluesql_core::ast::Query;
use gluesql_core::plan::StatementPlan;
use gluesql_core::sqlparser::dialect::PostgreSqlDialect;
use gluesql_core::sqlparser::tokenizer::{Token, Tokenizer};
use serde_json::{Value, json};

use super::store::{TICK, Tables};
use muster_engine::Failure;

const MAX_SQL: usize = 100_000;
/// Maximum number of words and operators, without commas and literals: a long sum is nested as deeply as it has terms.
const MAX_TOKENS: usize = 3_000;
/// Maximum size of the texts of one query step, in bytes.
const MAX_GROWTH: usize = 256 * 1024 * 1024;

const CLOCK: [&str; 4] = ["Now", "CurrentDate", "CurrentTime", "CurrentTimestamp"];
const CHANCE: [&str; 2] = ["Rand", "GenerateUuid"];
/// Functions that take bytes for characters.
const BYTES: [&str; 7] = ["Left", "Right", "Substr", "Position", "FindIdx", "Lpad", "Rpad"];

pub fn text(sql: &str) -> Result<(), Failure> {
    if sql.len() > MAX_SQL {
        return Err(Failure::too_large(format!("the query is longer than {MAX_SQL} bytes")));
    }
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql)
        .tokenize()
        .map_err(|error| Failure::invalid(&["sql"], format!("is no SQL: {error}")))?;
    let weighs = |token: &&Token| {
        !matches!(token, Token::Comma | Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_))
    };
    if tokens.iter().filter(weighs).count() > MAX_TOKENS {
        return Err(Failure::too_large(format!("the query has more than {MAX_TOKENS} words and operators")));
    }
    Ok(())
}

/// Rejects what depends on time or randomness, what may grow, and functions that count bytes where a letter has several.
pub fn check(query: &Query, tables: &Tables) -> Result<(), Failure> {
    let tree = serde_json::to_value(query).map_err(Failure::internal)?;
    let mut growth = Growth::default();
    look(&tree, &mut growth)?;
    match growth.counts_bytes {
        Some(name) if growth.beyond_ascii || !tables.is_ascii() => {
            let name = name.to_uppercase();
            let message =
                format!("{name} counts bytes, and there are letters beyond ASCII: take the parts of texts elsewhere");
            Err(Failure::invalid(&["sql"], message))
        }
        _ => growth.check(tables.size()),
    }
}

/// How much longer than the longest text of a table or the query a computed text may be.
#[derive(Default)]
struct Growth {
    literal: usize,
    joined: usize,
    selects: u32,
    factor: usize,
    /// A function of GlueSQL that takes bytes for characters.
    counts_bytes: Option<&'static str>,
    /// A literal has, or a function makes, characters beyond ASCII.
    beyond_ascii: bool,
}

impl Growth {
    fn check(&self, (rows, longest): (usize, usize)) -> Result<(), Failure> {
        let factor = self.factor.max(1).saturating_mul(self.joined.saturating_add(1).saturating_pow(self.selects));
        let bytes = factor.saturating_mul(longest.max(self.literal).max(1)).saturating_mul(rows.max(1));
        if factor > 1 && bytes > MAX_GROWTH {
            let why = "the texts that this query makes may grow past 256 MiB: concatenate, repeat or replace less";
            return Err(Failure::too_large(why));
        }
        Ok(())
    }
}

fn look(node: &Value, growth: &mut Growth) -> Result<(), Failure> {
    match node {
        Value::Array(items) => items.iter().try_for_each(|item| look(item, growth)),
        Value::Object(object) => {
            for (key, child) in object {
                function(key, child, growth)?;
                look(child, growth)?;
            }
            Ok(())
        }
        Value::String(name) => named(name),
        _ => Ok(()),
    }
}

/// A variant without fields is a bare name.
fn named(name: &str) -> Result<(), Failure> {
    match name {
        "Rand" => Err(chance()),
        _ => Ok(()),
    }
}

fn chance() -> Failure {
    Failure::invalid(&["sql"], "draws lots: the same query must give the same rows")
}

fn function(key: &str, child: &Value, growth: &mut Growth) -> Result<(), Failure> {
    growth.counts_bytes = growth.counts_bytes.or_else(|| BYTES.into_iter().find(|name| *name == key));
    growth.beyond_ascii |=
        key == "Chr" || (key == "QuotedString" && child.as_str().is_some_and(|text| !text.is_ascii()));
    match key {
        key if CLOCK.contains(&key) => {
            return Err(Failure::invalid(&["sql"], "reads the present time: write the time as a literal"));
        }
        key if CHANCE.contains(&key) => return Err(chance()),
        // A SELECT without FROM is GlueSQL's series of one row.
        "Series" if number(child.get("size")) == Ok(1) => {}
        "Series" => return Err(Failure::invalid(&["sql"], "reads from SERIES: give the numbers as a table")),
        "Select" => growth.selects = growth.selects.saturating_add(1),
        "QuotedString" => growth.literal = growth.literal.max(child.as_str().map_or(0, str::len)),
        "Concat" | "ConcatWs" => growth.joined = growth.joined.saturating_add(arguments(child)),
        "op" if child == "StringConcat" => growth.joined = growth.joined.saturating_add(1),
        "Append" | "Prepend" | "Splice" => growth.joined = growth.joined.saturating_add(1),
        "Replace" => grow(growth, text_length(child.get("new"))?),
        "Repeat" => grow(growth, number(child.get("num"))?),
        "Lpad" | "Rpad" => grow(growth, number(child.get("size"))?),
        _ => {}
    }
    Ok(())
}

fn arguments(child: &Value) -> usize {
    child.as_array().or_else(|| child.get("exprs")?.as_array()).map_or(1, Vec::len)
}

fn grow(growth: &mut Growth, by: usize) {
    growth.factor = growth.factor.max(1).saturating_mul(by.max(1));
}

fn literal<'a>(of: Option<&'a Value>, kind: &str) -> Option<&'a Value> {
    of?.get("Literal")?.get(kind)
}

fn number(of: Option<&Value>) -> Result<usize, Failure> {
    // As text, a great number as 1E+9.
    let number = literal(of, "Number").map(|number| number.to_string());
    let number = number.and_then(|number| number.trim_matches('"').parse::<f64>().ok());
    number
        .map(|number| number as usize)
        .ok_or_else(|| Failure::invalid(&["sql"], "repeats or pads by a computed number: write the number itself"))
}

fn text_length(of: Option<&Value>) -> Result<usize, Failure> {
    let text = literal(of, "QuotedString").and_then(Value::as_str);
    text.map(str::len).ok_or_else(|| Failure::invalid(&["sql"], "replaces by a computed text: write the text itself"))
}

/// Adds a counter to every join condition, so that every compared pair of rows counts.
pub fn count_joined(plan: &StatementPlan) -> Result<StatementPlan, Failure> {
    let mut tree = serde_json::to_value(plan).map_err(Failure::internal)?;
    count_below(&mut tree);
    serde_json::from_value(tree).map_err(Failure::internal)
}

fn count_below(node: &mut Value) {
    match node {
        Value::Array(items) => items.iter_mut().for_each(count_below),
        Value::Object(object) => {
            for (key, child) in object.iter_mut() {
                count_below(child);
                if let "InnerJoin" | "LeftOuterJoin" = key.as_str()
                    && let Some(input) = child.get_mut("input")
                {
                    count_here(input);
                }
            }
        }
        _ => {}
    }
}

/// Adds a condition or a counter to a join's input.
fn count_here(input: &mut Value) {
    let tick = json!({ "Function": { "Custom": { "name": TICK, "exprs": [] } } });
    let bare = input.get("Hash").is_some() || input.get("NestedLoop").is_some();
    if bare {
        *input = json!({ "Condition": { "input": input.take(), "expr": tick } });
    } else if let Some(expr) = input.get_mut("Condition").and_then(|condition| condition.get_mut("expr")) {
        *expr = json!({ "BinaryOp": { "left": tick, "op": "And", "right": expr.take() } });
    }
}
