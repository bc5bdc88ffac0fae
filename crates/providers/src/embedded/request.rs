//! Converts a chat request for the in-process model.

use muster_models::{
    ChatTurn, Format, GenerateRequest, MAX_CALLS, Role as Speaker, Tool, ToolCall, ToolChoice as Choice, Toolbox,
};

use super::relevance::relevant;
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
    if request.sampling.top_k.is_some() {
        return Err(Fault::unsupported("top_k", "the embedded model takes no top_k: leave it out"));
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

/// Tools offered to the model; `None` if none may be called. If the choice is left to the model, it must call one of
/// those that the user's last message has a word in common with; if there are none, it may call any.
pub(super) fn toolbox(request: &ChatRequest) -> Option<Toolbox> {
    let (choice, offered) = match &request.tool_choice {
        ToolChoice::None => return None,
        ToolChoice::Auto => match called_for(request) {
            tools if tools.is_empty() => (Choice::Auto, request.tools.iter().collect()),
            tools => (Choice::Required, tools),
        },
        ToolChoice::Required => (Choice::Required, request.tools.iter().collect()),
        ToolChoice::Named(name) => (Choice::Named(name.clone()), request.tools.iter().collect::<Vec<_>>()),
    };
    let tools: Vec<Tool> = offered
        .into_iter()
        .map(|tool| Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        })
        .collect();
    let most = if request.parallel_tool_calls == Some(false) { 1 } else { MAX_CALLS };
    (!tools.is_empty()).then_some(Toolbox { tools, choice, most })
}

/// Returns the tools that the last message calls for: none after their results, which are to be answered, and none where
/// the answer has a form of its own.
fn called_for(request: &ChatRequest) -> Vec<&crate::Tool> {
    let last = request.messages.last().filter(|message| message.role == Role::User);
    match last.filter(|_| request.format == ResponseFormat::Text) {
        Some(message) => relevant(&message.content.text(), &request.tools),
        None => Vec::new(),
    }
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
