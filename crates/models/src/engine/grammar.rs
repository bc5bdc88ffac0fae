//! Builds the sampling grammar for the required form of an answer.

use std::borrow::Cow;

use llama_cpp_2::json_schema_to_grammar;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use serde_json::{Value, json};

use crate::chat::{Format, GenerateRequest, ModelError};
use crate::hermes::{self, AnswerForm};
use crate::schema;
use crate::tool::{MAX_CALLS, Tool, ToolChoice, Toolbox};

const FORMAT: &str = "response_format";
const MAX_NAME: usize = 64;

/// Maximum number of calls in one answer.
pub(super) fn most(toolbox: &Toolbox) -> u32 {
    match toolbox.choice {
        ToolChoice::Named(_) => 1,
        ToolChoice::Auto | ToolChoice::Required => toolbox.most.clamp(1, MAX_CALLS),
    }
}

/// Returns the grammar; `None` if any text is allowed. Rejects forms that no grammar can enforce.
pub(super) fn of(model: &LlamaModel, request: &GenerateRequest) -> Result<Option<LlamaSampler>, ModelError> {
    let document = match &request.format {
        Format::Text => None,
        Format::JsonObject => Some(convert(&json!({"type": "object"}), FORMAT.into())?),
        Format::JsonSchema(schema) => {
            schema::check(schema).map_err(|why| unsupported(FORMAT.into(), why))?;
            Some(convert(schema, FORMAT.into())?)
        }
    };
    match (&request.tools, document) {
        (None, None) => Ok(None),
        (None, Some(document)) => sampler(model, &document, FORMAT.into()).map(Some),
        (Some(toolbox), document) => of_calls(model, toolbox, document).map(Some),
    }
}

fn of_calls(model: &LlamaModel, toolbox: &Toolbox, document: Option<String>) -> Result<LlamaSampler, ModelError> {
    let schemas = toolbox.tools.iter().enumerate().map(|(index, tool)| arguments(index, tool));
    let schemas: Vec<Cow<'_, Value>> = schemas.collect::<Result<_, _>>()?;
    schema::check_all(schemas.iter().map(AsRef::as_ref))
        .map_err(|(index, why)| unsupported(field(index, "parameters"), why))?;
    let mut tools = Vec::new();
    for (index, (tool, schema)) in toolbox.tools.iter().zip(&schemas).enumerate() {
        if !matches!(&toolbox.choice, ToolChoice::Named(name) if *name != tool.name) {
            tools.push((index, tool.name.as_str(), convert(schema, field(index, "parameters"))?));
        }
    }
    if tools.is_empty() {
        return Err(unsupported("tool_choice".into(), "names a tool that is not among the tools".to_owned()));
    }
    let otherwise = match (&toolbox.choice, document) {
        (ToolChoice::Required | ToolChoice::Named(_), _) => AnswerForm::Nothing,
        (ToolChoice::Auto, None) => AnswerForm::Text,
        (ToolChoice::Auto, Some(document)) => AnswerForm::Document(document),
    };
    let named: Vec<(&str, &str)> = tools.iter().map(|(_, name, arguments)| (*name, arguments.as_str())).collect();
    sampler(model, &hermes::grammar(&named, &otherwise, most(toolbox)), "tools".into()).map_err(|error| {
        // The grammar builder does not report which part failed.
        let blame =
            |(index, _, grammar): &(usize, _, String)| sampler(model, grammar, field(*index, "parameters")).err();
        let document = match &otherwise {
            AnswerForm::Document(document) => sampler(model, document, FORMAT.into()).err(),
            AnswerForm::Nothing | AnswerForm::Text => None,
        };
        tools.iter().find_map(blame).or(document).unwrap_or(error)
    })
}

/// Returns the schema of a tool's arguments, which is an object's.
fn arguments(index: usize, tool: &Tool) -> Result<Cow<'_, Value>, ModelError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if tool.name.is_empty() || tool.name.len() > MAX_NAME || !tool.name.bytes().all(plain) {
        let why = "must be 1 to 64 letters, digits, `_`, `-` or `.`".to_owned();
        return Err(unsupported(field(index, "name"), why));
    }
    let must = || unsupported(field(index, "parameters"), "must be the schema of an object".to_owned());
    let schema = match &tool.parameters {
        // A function without parameters has no schema.
        Value::Null => return Ok(Cow::Owned(json!({"type": "object", "properties": {}}))),
        Value::Object(schema) if schema.is_empty() => {
            return Ok(Cow::Owned(json!({"type": "object", "properties": {}})));
        }
        Value::Object(schema) => schema,
        _ => return Err(must()),
    };
    match schema.get("type") {
        Some(kind) if kind != "object" => Err(must()),
        Some(_) => Ok(Cow::Borrowed(&tool.parameters)),
        None if ["$ref", "anyOf", "oneOf"].iter().any(|word| schema.contains_key(*word)) => {
            Ok(Cow::Borrowed(&tool.parameters))
        }
        None => {
            let mut typed = schema.clone();
            typed.insert("type".to_owned(), json!("object"));
            Ok(Cow::Owned(Value::Object(typed)))
        }
    }
}

fn field(index: usize, of: &str) -> Cow<'static, str> {
    Cow::Owned(format!("tools[{index}].function.{of}"))
}

fn convert(schema: &Value, field: Cow<'static, str>) -> Result<String, ModelError> {
    json_schema_to_grammar(&schema.to_string())
        .map_err(|error| unsupported(field, format!("the schema cannot be enforced: {error}")))
}

fn sampler(model: &LlamaModel, grammar: &str, field: Cow<'static, str>) -> Result<LlamaSampler, ModelError> {
    LlamaSampler::grammar(model, grammar, "root").map_err(|error| {
        let why = format!("the schema cannot be enforced (does it refer to itself without end?): {error}");
        unsupported(field, why)
    })
}

fn unsupported(field: Cow<'static, str>, why: String) -> ModelError {
    ModelError::Unsupported { field, why }
}
