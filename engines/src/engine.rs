//! What an engine is.

use std::sync::OnceLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{Context, Failure};
use crate::grammar::{self, Field};

/// The families, in the catalogue's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    Platform,
    Data,
    Security,
    Text,
    Code,
    Docs,
}

impl Family {
    pub const ALL: [Self; 6] = [Self::Platform, Self::Data, Self::Security, Self::Text, Self::Code, Self::Docs];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Data => "data",
            Self::Security => "security",
            Self::Text => "text",
            Self::Code => "code",
            Self::Docs => "docs",
        }
    }
}

/// What a call may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// Nothing but its input.
    Pure,
    /// Files below the workspace folder, which it reads.
    Workspace,
}

/// One engine. Its fields are in the grammar of [`grammar`]: inputs `name:type:unit:required|optional|=default`,
/// outputs `name:type:unit`.
#[derive(Debug)]
pub struct Engine {
    /// Its address is `/api/q<number>`.
    pub number: u16,
    pub id: &'static str,
    pub name: &'static str,
    pub family: Family,
    pub nature: Nature,
    pub summary: &'static str,
    pub inputs: &'static [&'static str],
    pub outputs: &'static [&'static str],
    /// How it computes.
    pub method: &'static str,
    /// Where the method, and the cases that it is tested with, are from.
    pub reference: &'static str,
    /// A whole input, as JSON.
    pub example: &'static str,
    /// Gets an input that was checked and completed with its defaults; [`call`] makes one of a typed function.
    pub function: fn(Value, &Context) -> Result<Value, Failure>,
    /// Its fields, read once.
    pub fields: OnceLock<Fields>,
}

/// An engine's fields, read.
#[derive(Debug)]
pub struct Fields {
    pub inputs: Vec<Field>,
    pub outputs: Vec<Field>,
}

impl Engine {
    /// # Panics
    /// Never of a registered engine: a test reads the fields of each.
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

    /// Its address.
    pub fn path(&self) -> String {
        format!("/api/q{}", self.number)
    }

    pub fn input_schema(&self) -> Value {
        grammar::input_schema(&self.fields().inputs)
    }

    pub fn output_schema(&self) -> Value {
        grammar::output_schema(&self.fields().outputs)
    }

    /// A good input.
    pub fn example(&self) -> Value {
        serde_json::from_str(self.example).unwrap_or_default()
    }

    /// Checks an input and completes it with the defaults.
    ///
    /// # Errors
    /// `Invalid` with every problem that was found.
    pub fn accept(&self, input: Value) -> Result<Map<String, Value>, Failure> {
        grammar::accept(&self.fields().inputs, input).map_err(|problems| Failure::Invalid { problems })
    }

    /// Checks the input, then runs.
    ///
    /// # Errors
    /// As [`Failure`] says.
    pub fn run(&self, input: Value, context: &Context) -> Result<Value, Failure> {
        let input = self.accept(input)?;
        (self.function)(Value::Object(input), context)
    }
}

/// Runs a typed function on an input that was checked: what does not fit the type is told as a problem of the input.
///
/// # Errors
/// The function's own, or `Invalid`.
pub fn call<I: DeserializeOwned, O: Serialize>(
    function: impl FnOnce(I, &Context) -> Result<O, Failure>,
    input: Value,
    context: &Context,
) -> Result<Value, Failure> {
    let input = serde_json::from_value(input).map_err(|error| Failure::invalid(&[], error.to_string()))?;
    serde_json::to_value(function(input, context)?).map_err(Failure::internal)
}
