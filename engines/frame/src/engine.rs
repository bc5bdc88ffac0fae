//! Definition of an engine.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::failure::{Failure, NoAnswer, Problem, ProblemKind};
use crate::family::Family;
use crate::grammar::{self, Field};
use crate::wire::{FromValue, Shape, ToValue};

/// What a call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// Only its input.
    Pure,
    /// Reads files below the workspace folder.
    Workspace,
    /// Its input, and answers of models where the caller may use them.
    Model,
    /// The state of the server, of what the caller may see.
    State,
}

impl Nature {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Workspace => "workspace",
            Self::Model => "model",
            Self::State => "state",
        }
    }
}

/// How long a call may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Seconds.
    #[default]
    Short,
    /// Up to a minute; it reports its progress.
    Long,
}

impl Cost {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Long => "long",
        }
    }
}

/// Data that an engine contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSource {
    /// Its id, such as the name of the table's file.
    pub id: String,
    /// Its edition.
    pub version: String,
    /// Its licence.
    pub licence: String,
    /// `unreviewed` while there is only one source of it, else how it was checked.
    pub review: String,
}

/// An engine: what the catalogue says about it, and its function.
#[derive(Debug)]
pub struct Engine {
    /// Number of its route, `/api/q<number>`.
    pub number: u16,
    /// Stable id, such as `code-search`.
    pub id: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Family it belongs to.
    pub family: Family,
    /// Resources it may access.
    pub nature: Nature,
    /// One-sentence description.
    pub summary: &'static str,
    /// Input fields, in the grammar.
    pub inputs: &'static [&'static str],
    /// Output fields, in the grammar.
    pub outputs: &'static [&'static str],
    /// Method of computation.
    pub method: &'static str,
    /// Source of the method and of its test cases.
    pub reference: &'static str,
    /// A complete example input, as JSON.
    pub example: &'static str,
    /// Version of the method: major for fields, minor for numbers beyond the tolerance, patch for neither.
    pub version: &'static str,
    /// How accurate the output is, and against what that was checked.
    pub accuracy: &'static str,
    /// Range in which the method holds.
    pub valid: &'static str,
    /// Largest input.
    pub limits: &'static str,
    /// How long a call may take.
    pub cost: Cost,
    /// Data that it contains.
    pub data: &'static [DataSource],
    /// Function of the engine; its input is validated and completed with defaults. [`call`] adapts a typed function.
    pub function: fn(Value, &Context) -> Result<Value, Failure>,
    /// Shapes of the function's input and output; `None` for one without types.
    pub shapes: Option<fn() -> (Shape, Shape)>,
    /// Parsed fields, initialised on first use.
    pub fields: OnceLock<Fields>,
}

/// Parsed fields of an engine.
#[derive(Debug)]
pub struct Fields {
    /// Input fields.
    pub inputs: Vec<Field>,
    /// Output fields.
    pub outputs: Vec<Field>,
}

impl Engine {
    /// Creates an engine without fields, which is in no catalogue: for tests of what runs engines.
    pub const fn bare(
        number: u16,
        id: &'static str,
        nature: Nature,
        function: fn(Value, &Context) -> Result<Value, Failure>,
    ) -> Self {
        Self {
            number,
            id,
            name: id,
            family: Family::Code,
            nature,
            summary: "",
            inputs: &[],
            outputs: &[],
            method: "",
            reference: "",
            example: "{}",
            version: "0.0.0",
            accuracy: "",
            valid: "",
            limits: "",
            cost: Cost::Short,
            data: &[],
            function,
            shapes: None,
            fields: OnceLock::new(),
        }
    }

    /// Sets the input fields.
    #[must_use]
    pub const fn with_inputs(mut self, inputs: &'static [&'static str]) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets how long a call may take.
    #[must_use]
    pub const fn with_cost(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    /// Returns the parsed fields. Those of a registered engine all follow the grammar: a test parses them.
    pub fn fields(&self) -> &Fields {
        self.fields.get_or_init(|| {
            let read = |texts: &[&str], parse: fn(&str) -> Result<Field, grammar::Malformed>| {
                texts.iter().filter_map(|text| parse(text).ok()).collect()
            };
            Fields {
                inputs: read(self.inputs, grammar::parse_input),
                outputs: read(self.outputs, grammar::parse_output),
            }
        })
    }

    /// Returns the path of its route.
    pub fn path(&self) -> String {
        format!("/api/q{}", self.number)
    }

    /// Returns the JSON Schema of the input.
    pub fn input_schema(&self) -> Value {
        grammar::input_schema(&self.fields().inputs)
    }

    /// Returns the JSON Schema of the output.
    pub fn output_schema(&self) -> Value {
        grammar::output_schema(&self.fields().outputs)
    }

    /// Returns the example input.
    pub fn example(&self) -> Value {
        serde_json::from_str(self.example).unwrap_or_default()
    }

    /// Validates an input and fills in defaults.
    ///
    /// # Errors
    /// `Invalid` with every problem found.
    pub fn accept(&self, input: Value) -> Result<Map<String, Value>, Failure> {
        grammar::accept(&self.fields().inputs, input).map_err(|problems| Failure::Invalid { problems })
    }

    /// Validates the input and runs the engine.
    ///
    /// # Errors
    /// As described by [`Failure`].
    pub fn run(&self, input: Value, context: &Context) -> Result<Value, Failure> {
        let input = self.accept(input)?;
        (self.function)(Value::Object(input), context)
    }
}

/// Runs a typed function on a validated input; a value that its type cannot hold is reported as a problem of the input.
///
/// # Errors
/// Those of the function, `Invalid`, or `NoAnswer` for a result with a number that is not finite.
pub fn call<I: FromValue, O: ToValue>(
    function: impl FnOnce(I, &Context) -> Result<O, Failure>,
    input: Value,
    context: &Context,
) -> Result<Value, Failure> {
    let input = I::from_value(input).map_err(|mismatch| {
        let (loc, message) = mismatch.into_parts();
        let problem = Problem { loc, message, kind: ProblemKind::ValueError, input: Value::Null };
        Failure::Invalid { problems: vec![problem] }
    })?;
    let output = function(input, context)?.to_value();
    if has_null(&output)
        && let Some(place) = O::shape().not_finite(&output)
    {
        let place = place.trim_start_matches('.');
        let message = format!("`{place}` of the result is beyond every number: send inputs of a smaller magnitude");
        return Err(Failure::no_answer(NoAnswer::OutsideValidity, message));
    }
    Ok(output)
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

/// Returns the shapes of a typed function.
pub fn shapes<I: FromValue, O: ToValue>(_: fn(I, &Context) -> Result<O, Failure>) -> (Shape, Shape) {
    (I::shape(), O::shape())
}
