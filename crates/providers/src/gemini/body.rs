//! Encodes the request body for Google's API. Unset fields are not sent.

use serde::Serialize;
use serde_json::Value;

use super::turns::{RoleTurn, turns};
use crate::{Call, ChatRequest, ClientFault, Fault, FaultClass, Phase, ResponseFormat, Tool, ToolChoice};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    contents: Vec<RoleTurn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<RoleTurn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "is_default")]
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// JSON Schema; the older `parameters` supports only a subset of OpenAPI schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: FunctionCalling<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCalling<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig<'a>>,
}

#[derive(Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig<'a> {
    thinking_level: &'a str,
}

fn is_default(config: &GenerationConfig<'_>) -> bool {
    *config == GenerationConfig::default()
}

/// Encodes the body of one call; `files` is the URL prefix of files uploaded to the provider. Returns a fault for what
/// this provider does not support.
pub(super) fn encode(call: &Call, files: &str) -> Result<Vec<u8>, Fault> {
    let request = &call.request;
    let turns = turns(request, &call.upstream_model, files)?;
    let body = Body {
        contents: turns.contents,
        system_instruction: turns.system,
        tools: tools(&request.tools),
        tool_config: tool_config(request),
        generation_config: generation_config(call),
    };
    serde_json::to_vec(&body).map_err(|error| invalid(error.to_string()))
}

/// Fault for a request that this API cannot express.
pub(super) fn invalid(why: impl Into<String>) -> Fault {
    Fault { client: Some(ClientFault::InvalidRequest), ..Fault::new(FaultClass::Client, Phase::Connect, why) }
}

fn tools(tools: &[Tool]) -> Option<[Tools<'_>; 1]> {
    (!tools.is_empty()).then(|| [Tools { function_declarations: tools.iter().map(declaration).collect() }])
}

fn declaration(tool: &Tool) -> Declaration<'_> {
    Declaration {
        name: &tool.name,
        description: tool.description.as_deref(),
        parameters_json_schema: Some(&tool.parameters).filter(|schema| !has_no_properties(schema)),
    }
}

/// An object without properties is omitted: the API requires some.
fn has_no_properties(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return schema.is_null();
    };
    schema.iter().all(|(key, value)| match key.as_str() {
        "type" | "title" | "description" | "$schema" => true,
        "properties" => value.as_object().is_some_and(|object| object.is_empty()),
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "additionalProperties" => *value == Value::Bool(false),
        _ => false,
    })
}

/// `AUTO` is the API's own default and is not sent.
fn tool_config(request: &ChatRequest) -> Option<ToolConfig<'_>> {
    if request.tools.is_empty() {
        return None;
    }
    let (mode, allowed_function_names) = match &request.tool_choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Named(name) => ("ANY", Some([name.as_str()])),
    };
    Some(ToolConfig { function_calling_config: FunctionCalling { mode, allowed_function_names } })
}

/// Temperature, top_p and penalties are sent only to models that accept them; the gateway refuses values for others that
/// would change the answer.
fn generation_config(call: &Call) -> GenerationConfig<'_> {
    let request = &call.request;
    let sampling = call.takes_sampling.then_some(&request.sampling);
    let (response_mime_type, response_json_schema) = match &request.format {
        ResponseFormat::Text => (None, None),
        ResponseFormat::JsonObject => (Some("application/json"), None),
        ResponseFormat::JsonSchema { schema, .. } => (Some("application/json"), Some(schema)),
    };
    GenerationConfig {
        temperature: call.temperature(),
        top_p: sampling.and_then(|s| s.top_p),
        top_k: request.sampling.top_k,
        presence_penalty: sampling.and_then(|s| s.presence_penalty),
        frequency_penalty: sampling.and_then(|s| s.frequency_penalty),
        seed: request.sampling.seed.map(seed),
        max_output_tokens: call.max_tokens(),
        stop_sequences: &request.sampling.stop,
        candidate_count: Some(request.choices()).filter(|n| *n > 1),
        response_mime_type,
        response_json_schema,
        thinking_config: request.effort.as_deref().map(|thinking_level| ThinkingConfig { thinking_level }),
    }
}

/// The API's seed has 32 bits: a longer one is truncated to its lower bits, so that equal seeds stay equal.
fn seed(seed: i64) -> i32 {
    let [a, b, c, d, ..] = seed.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}
