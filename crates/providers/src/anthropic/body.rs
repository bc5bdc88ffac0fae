//! Encodes the request body for this API. Unset fields are not sent.

use serde::Serialize;
use serde_json::Value;

use super::schema::convert_schema;
use super::tools::{WireChoice, WireTool, choice, tools};
use super::turns::{Conversation, SideTurn};
use crate::http::Mode;
use crate::{Call, ChatRequest, ClientFault, Fault, FaultClass, Phase, ResponseFormat};

/// Token limit where none is requested and the model's own maximum is unknown: the provider requires one.
pub(super) const REQUIRED_MAX_TOKENS: u32 = 4096;

/// Maximum temperature of this API; OpenAI's is 2.
const MAX_TEMPERATURE: f32 = 1.0;

/// This API has no mode for JSON of unknown shape: constrained answers require closed objects, and the newest models do
/// not allow forced tools. So the model is instructed, and a code fence around its answer is removed.
const JSON_ONLY: &str = "Answer with one valid JSON object and nothing else: no words around it and no code fence.";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    messages: Vec<SideTurn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'a>>,
    stream: bool,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputFormat {
    JsonSchema { schema: Value },
}

#[derive(Serialize)]
struct Metadata<'a> {
    user_id: &'a str,
}

/// Encodes the body of one call. Returns a fault if this provider does not support the request.
pub(super) fn encode(call: &Call, mode: Mode) -> Result<Vec<u8>, Fault> {
    let request = &*call.request;
    refuse(request)?;
    let Conversation { mut system, turns } = Conversation::of(&request.messages)?;
    if request.format == ResponseFormat::JsonObject {
        system.push(JSON_ONLY.into());
    }
    let top_p = request.sampling.top_p.filter(|_| call.takes_sampling);
    // The API rejects both together, so that a default gives way to what the client sent.
    let temperature = call.temperature().filter(|_| request.sampling.temperature.is_some() || top_p.is_none());
    let max_tokens = call.max_tokens().or(call.max_output).unwrap_or(REQUIRED_MAX_TOKENS);
    let body = Body {
        model: &call.upstream_model,
        max_tokens,
        system: (!system.is_empty()).then(|| system.join("\n\n")),
        messages: turns,
        temperature,
        top_p,
        top_k: request.sampling.top_k,
        stop_sequences: &request.sampling.stop,
        tools: tools(request)?,
        tool_choice: choice(request),
        output_config: output_config(request)?,
        metadata: request.user.as_deref().map(|user_id| Metadata { user_id }),
        stream: mode == Mode::Streamed,
    };
    serde_json::to_vec(&body).map_err(|error| Fault {
        client: Some(ClientFault::InvalidRequest),
        ..Fault::new(FaultClass::Client, Phase::Connect, error.to_string())
    })
}

/// Rejects fields that would change the answer and that this API does not have.
fn refuse(request: &ChatRequest) -> Result<(), Fault> {
    let sampling = &request.sampling;
    let penalties =
        [("presence_penalty", sampling.presence_penalty), ("frequency_penalty", sampling.frequency_penalty)];
    for (param, penalty) in penalties {
        if penalty.is_some_and(|penalty| penalty != 0.0) {
            return Err(Fault::unsupported(
                param,
                format!("this provider knows no {param}: leave it out or set it to 0"),
            ));
        }
    }
    if sampling.temperature.is_some_and(|temperature| temperature > MAX_TEMPERATURE) {
        return Err(Fault::unsupported("temperature", "this provider takes a temperature of 0 to 1"));
    }
    if sampling.seed.is_some() {
        return Err(Fault::unsupported("seed", "this provider knows no seed: leave it out"));
    }
    if request.choices() > 1 {
        return Err(Fault::unsupported("n", "this provider gives one answer a request: ask several times"));
    }
    if sampling.stop.iter().any(|stop| stop.trim().is_empty()) {
        return Err(Fault::unsupported("stop", "this provider takes no stop sequence of white space alone"));
    }
    Ok(())
}

fn output_config(request: &ChatRequest) -> Result<Option<OutputConfig<'_>>, Fault> {
    let format = match &request.format {
        ResponseFormat::JsonSchema { schema, .. } => {
            let schema = convert_schema(schema).map_err(|why| Fault::unsupported("response_format", why))?;
            Some(OutputFormat::JsonSchema { schema })
        }
        ResponseFormat::Text | ResponseFormat::JsonObject => None,
    };
    let effort = request.effort.as_deref();
    Ok((effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format }))
}
