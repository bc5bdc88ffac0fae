//! q119: table anonymisation.

mod column;
mod measures;
mod mondrian;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::engine::call;
use crate::{Context, Engine, Failure, Family, Nature};
use column::Column;

pub static ENGINE: Engine = Engine {
    number: 119,
    id: "table-anonymise",
    name: "Anonymise a table",
    family: Family::Data,
    nature: Nature::Pure,
    summary: "Measure and reach k-anonymity and l-diversity by generalising or suppressing quasi-identifiers, with re-identification risk.",
    inputs: &[
        "rows:array<any>:-:required",
        "quasi_identifiers:array<string>:-:required",
        "sensitive:array<string>:-:=[]",
        "direct_identifiers:array<string>:-:=[]",
        "k:integer:-[2..]:=5",
        "hierarchies:map<any>:-:={}",
        "suppression_limit:number:-[0..1]:=0.05",
    ],
    outputs: &[
        "rows:array<any>:-",
        "k:integer:-",
        "l_diversity:integer:-",
        "t_closeness:number:-",
        "suppressed:integer:-",
        "prosecutor_risk:number:-[0..1]",
        "information_loss:number:-[0..1]",
    ],
    method: "Mondrian multidimensional partitioning (numeric and hierarchical), suppression of small classes; direct identifiers dropped or HMAC-pseudonymised.",
    reference: "Sweeney 2002; LeFevre, DeWitt, Ramakrishnan, ICDE 2006; Machanavajjhala et al. 2007",
    example: r#"{
        "rows": [
            {"name": "Ann", "age": 25, "city": "Oslo", "illness": "flu"},
            {"name": "Bo", "age": 27, "city": "Bergen", "illness": "asthma"},
            {"name": "Cy", "age": 58, "city": "Lund", "illness": "flu"},
            {"name": "Di", "age": 61, "city": "Lund", "illness": "gout"}
        ],
        "quasi_identifiers": ["age", "city"], "sensitive": ["illness"], "direct_identifiers": ["name"], "k": 2,
        "hierarchies": {"city": {"Oslo": ["Norway"], "Bergen": ["Norway"], "Lund": ["Sweden"]}}
    }"#,
    function: |input, context| call(anonymise, input, context),
    fields: OnceLock::new(),
};

/// Maximum number of quasi-identifier cells per call.
const MAX_CELLS: usize = 1_000_000;

#[derive(Deserialize)]
struct Input {
    rows: Vec<Value>,
    quasi_identifiers: Vec<String>,
    sensitive: Vec<String>,
    direct_identifiers: Vec<String>,
    k: f64,
    /// Per column, each value's ancestors from near to far, or each value's parent.
    hierarchies: BTreeMap<String, Value>,
    suppression_limit: f64,
}

#[derive(Serialize)]
struct Output {
    /// In input order, without suppressed rows.
    rows: Vec<Value>,
    /// Size of the smallest class; 0 if no row is left.
    k: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    l_diversity: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    t_closeness: Option<f64>,
    suppressed: usize,
    prosecutor_risk: f64,
    information_loss: f64,
}

type Row = Map<String, Value>;

fn anonymise(input: Input, context: &Context) -> Result<Output, Failure> {
    let rows = checked(&input)?;
    let column = |name: &String| Column::of(&rows, name, input.hierarchies.get(name));
    let columns: Vec<Column> = input.quasi_identifiers.iter().map(column).collect::<Result<_, _>>()?;
    // Saturates for a k beyond any number of rows.
    let (k, budget) = (input.k as usize, (input.suppression_limit * rows.len() as f64).floor() as usize);
    if rows.len() < k && budget < rows.len() {
        let message = format!("there are {} rows, fewer than k: lower k or bring more rows", rows.len());
        return Err(Failure::invalid(&["k"], message));
    }
    let parted = mondrian::part(&columns, rows.len(), k, budget);
    warn(&input, parted.suppressed, context);
    let mut released: BTreeMap<usize, Row> = BTreeMap::new();
    // A suppressed row counts as full loss.
    let mut loss = (parted.suppressed * columns.len()) as f64;
    for class in &parted.classes {
        let labels: Vec<(&String, Value, f64)> = input
            .quasi_identifiers
            .iter()
            .zip(&columns)
            .map(|(name, column)| (name, column.label(class), column.width(class)))
            .collect();
        for (index, row) in class.iter().filter_map(|index| Some((*index, *rows.get(*index)?))) {
            let mut row = row.clone();
            row.retain(|name, _| !input.direct_identifiers.contains(name));
            for (name, label, width) in &labels {
                loss += width;
                row.insert((*name).clone(), label.clone());
            }
            released.insert(index, row);
        }
    }
    let smallest = parted.classes.iter().map(Vec::len).min().unwrap_or(0);
    Ok(Output {
        rows: released.into_values().map(Value::Object).collect(),
        k: smallest,
        l_diversity: measures::l_diversity(&rows, &parted.classes, &input.sensitive),
        t_closeness: measures::t_closeness(&rows, &parted.classes, &input.sensitive),
        suppressed: parted.suppressed,
        prosecutor_risk: if smallest == 0 { 0.0 } else { 1.0 / smallest as f64 },
        information_loss: (loss / (rows.len() * columns.len()).max(1) as f64).clamp(0.0, 1.0),
    })
}

fn warn(input: &Input, suppressed: usize, context: &Context) {
    if suppressed > 0 {
        context.warn(format!("{suppressed} rows are suppressed because they fit no class of k rows"));
    }
    if !input.direct_identifiers.is_empty() {
        context.warn("direct identifiers are dropped: there is no key to make pseudonyms with");
    }
    for name in input.hierarchies.keys().filter(|name| !input.quasi_identifiers.contains(name)) {
        context.warn(format!("the hierarchy of {name} is not used: {name} is not a quasi-identifier"));
    }
}

fn checked(input: &Input) -> Result<Vec<&Row>, Failure> {
    if input.quasi_identifiers.is_empty() {
        return Err(Failure::invalid(
            &["quasi_identifiers"],
            "is empty: name the columns that could identify a person",
        ));
    }
    if input.rows.len().saturating_mul(input.quasi_identifiers.len()) > MAX_CELLS {
        return Err(Failure::too_large(format!("rows times quasi-identifiers are more than {MAX_CELLS}")));
    }
    for (index, name) in input.quasi_identifiers.iter().enumerate() {
        let twice = input.quasi_identifiers.iter().take(index).any(|other| other == name);
        if twice || input.sensitive.contains(name) || input.direct_identifiers.contains(name) {
            let message = format!("{name:?} is named twice: a column is of one kind");
            return Err(Failure::invalid(&["quasi_identifiers", &index.to_string()], message));
        }
    }
    let wrong = |index: usize| Failure::invalid(&["rows", &index.to_string()], "must be an object of columns");
    input.rows.iter().enumerate().map(|(index, row)| row.as_object().ok_or_else(|| wrong(index))).collect()
}
