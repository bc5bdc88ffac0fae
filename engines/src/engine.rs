//! Definition of an engine.

use std::sync::OnceLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{Context, Failure};
use crate::grammar::{self, Field};

/// Engine families, in the catalogue's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Operation of the platform.
    Platform,
    /// Tables, documents and series.
    Data,
    /// Defensive security checks.
    Security,
    /// Language models, translation.
    Llm,
    /// Text.
    Text,
    /// Source code.
    Code,
    /// Document rendering.
    Docs,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 7] =
        [Self::Platform, Self::Data, Self::Security, Self::Llm, Self::Text, Self::Code, Self::Docs];

    /// Returns the name of the family.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Data => "data",
            Self::Security => "security",
            Self::Llm => "llm",
            Self::Text => "text",
            Self::Code => "code",
            Self::Docs => "docs",
        }
    }
}

/// Resources that a call may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// Only its input.
    Pure,
    /// Reads files below the workspace folder.
    Workspace,
}

/// An engine. Its fields are written in the grammar of [`grammar`]: inputs `name:type:unit:required|optional|=default`,
/// outputs `name:type:unit`.
#[derive(Debug)]
pub struct Engine {
    /// Number of its route, `/api/q<number>`.
    pub number: u16,
    /// Stable id, such as `code_search`.
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
    /// Function of the engine; its input is validated and completed with defaults. [`call`] adapts a typed function.
    pub function: fn(Value, &Context) -> Result<Value, Failure>,
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
    /// Returns the parsed fields.
    ///
    /// # Panics
    /// Never for a registered engine: a test parses the fields of each.
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

/// Runs a typed function on a validated input; a value that does not fit the type is reported as a problem of the
/// input.
///
/// # Errors
/// Those of the function, or `Invalid`.
pub fn call<I: DeserializeOwned, O: Serialize>(
    function: impl FnOnce(I, &Context) -> Result<O, Failure>,
    input: Value,
    context: &Context,
) -> Result<Value, Failure> {
    let input = serde_json::from_value(input).map_err(|error| Failure::invalid(&[], error.to_string()))?;
    serde_json::to_value(function(input, context)?).map_err(Failure::internal)
}
