//! Converts a chat request for the in-process model.

use muster_models::{
    ChatTurn, Format, GenerateRequest, MAX_CALLS, Role as Speaker, Tool, ToolCall, ToolChoice as Choice, Toolbox,
};

use crate::{Call, ChatRequest, Fault, Message, ResponseFormat, Role, ToolChoice};

const DEFAULT_TEMPERATURE: f32 = 0.7;
const DEFAULT_MAX_TOKENS: u32 = 2000;

/// Returns one generation request per answer, of at most `most` tokens each. Rejects content that this model cannot
/// process.
pub(super) fn generate_requests(call: &Call, most: u32) -> Result<Vec<GenerateRequest>, Fault> {
    let request = &*call.request;
    if request.messages.iter().any(|message| message.content.images().next().is_some()) {
        let why = "the embedded model reads no images: name another model or a provider that does";
        return Err(Fault::unsupported("messages", why));
    }
    let first = generate_request(call, most);
    let nth = |index: u32| GenerateRequest { seed: first.seed.map(|seed| seed.wrapping_add(index)), ..first.clone() };
    Ok((0..request.choices()).map(nth).collect())
}

fn generate_request(call: &Call, most: u32) -> GenerateRequest {
    let request = &*call.request;
    let sampling = &request.sampling;
    GenerateRequest {
        turns: turns(request),
        max_tokens: call.max_tokens().unwrap_or(DEFAULT_MAX_TOKENS).min(most),
        temperature: call.temperature().unwrap_or(DEFAULT_TEMPERATURE),
        top_p: sampling.top_p.unwrap_or(1.0),
        presence_penalty: sampling.presence_penalty.unwrap_or(0.0),
        frequency_penalty: sampling.frequency_penalty.unwrap_or(0.0),
        seed: sampling.seed.map(fold_seed),
        stop: sampling.stop.clone(),
        format: match &request.format {
            ResponseFormat::Text => Format::Text,
            ResponseFormat::JsonObject => Format::JsonObject,
            ResponseFormat::JsonSchema { schema, .. } => Format::JsonSchema(schema.clone()),
        },
        tools: toolbox(request),
    }
}

/// The engine's seed has 32 bits: seeds that fit are unchanged, wider ones have their halves XORed.
fn fold_seed(seed: i64) -> u32 {
    let bits = seed.cast_unsigned();
    let folded = (bits ^ (bits >> 32)) & u64::from(u32::MAX);
    u32::try_from(folded).unwrap_or_default()
}

/// Tools offered to the model; `None` if none may be called.
pub(super) fn toolbox(request: &ChatRequest) -> Option<Toolbox> {
    let choice = match &request.tool_choice {
        ToolChoice::None => return None,
        ToolChoice::Auto => Choice::Auto,
        ToolChoice::Required => Choice::Required,
        ToolChoice::Named(name) => Choice::Named(name.clone()),
    };
    let tools: Vec<Tool> = request
        .tools
        .iter()
        .map(|tool| Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        })
        .collect();
    let most = if request.parallel_tool_calls == Some(false) { 1 } else { MAX_CALLS };
    (!tools.is_empty()).then_some(Toolbox { tools, choice, most })
}

pub(super) fn turns(request: &ChatRequest) -> Vec<ChatTurn> {
    request.messages.iter().map(turn).collect()
}

/// Results follow their calls in order, as the wire protocols require, so the model needs no ids.
fn turn(message: &Message) -> ChatTurn {
    let call = |call: &crate::ToolCall| ToolCall { name: call.name.clone(), arguments: call.arguments.clone() };
    ChatTurn {
        role: match message.role {
            Role::System | Role::Developer => Speaker::System,
            Role::User => Speaker::User,
            Role::Assistant => Speaker::Assistant,
            Role::Tool => Speaker::Tool,
        },
        content: message.content.text().into_owned(),
        calls: message.tool_calls.iter().map(call).collect(),
    }
}
