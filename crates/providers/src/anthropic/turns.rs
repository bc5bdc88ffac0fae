//! Converts the conversation to alternating user and assistant turns; everything else is folded into them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::blocks::{Block, blocks};
use crate::{ClientFault, Fault, FaultClass, Message, Phase, Role, ToolCall};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    User,
    Assistant,
}

/// Consecutive messages of one side.
#[derive(Debug, Serialize)]
pub(super) struct SideTurn<'a> {
    role: Speaker,
    content: Vec<Block<'a>>,
    /// How many of the first blocks are tool results.
    #[serde(skip)]
    results: usize,
}

/// The system prompt and the turns.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    /// System texts in order, from anywhere in the conversation.
    pub(super) system: Vec<Cow<'a, str>>,
    pub(super) turns: Vec<SideTurn<'a>>,
}

impl<'a> Conversation<'a> {
    pub(super) fn of(messages: &'a [Message]) -> Result<Self, Fault> {
        let mut conversation = Self::default();
        for message in messages {
            conversation.take(message)?;
        }
        Ok(conversation)
    }

    fn take(&mut self, message: &'a Message) -> Result<(), Fault> {
        let only_text = || match message.content.images().next() {
            Some(_) => Err(Fault::unsupported("messages", "this provider takes images of users and tools only")),
            None => Ok(()),
        };
        match message.role {
            Role::System | Role::Developer => {
                only_text()?;
                self.system.extend(Some(message.content.text()).filter(|text| !text.trim().is_empty()));
            }
            Role::User => {
                let blocks = blocks(&message.content)?;
                self.turn(Speaker::User, blocks);
            }
            Role::Assistant => {
                only_text()?;
                let mut blocks = blocks(&message.content)?;
                for call in &message.tool_calls {
                    blocks.push(tool_use(call)?);
                }
                self.turn(Speaker::Assistant, blocks);
            }
            Role::Tool => {
                let result = tool_result(message)?;
                self.answer(result);
            }
        }
        Ok(())
    }

    /// Appends to the current turn of this side or starts a new one; empty messages are skipped.
    fn turn(&mut self, role: Speaker, blocks: Vec<Block<'a>>) {
        match self.turns.last_mut() {
            Some(open) if open.role == role => open.content.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => self.turns.push(SideTurn { role, content: blocks, results: 0 }),
        }
    }

    /// All results for one turn must be at the beginning of the next one: the provider rejects anything before or
    /// between them.
    fn answer(&mut self, result: Block<'a>) {
        match self.turns.last_mut() {
            Some(open) if open.role == Speaker::User => {
                open.content.insert(open.results, result);
                open.results += 1;
            }
            _ => self.turns.push(SideTurn { role: Speaker::User, content: vec![result], results: 1 }),
        }
    }
}

/// The provider expects an object where others expect text. Empty text is the empty object.
fn tool_use(call: &ToolCall) -> Result<Block<'_>, Fault> {
    let arguments = call.arguments.trim();
    let input =
        if arguments.is_empty() { Ok(Map::new()) } else { serde_json::from_str::<Map<String, Value>>(arguments) };
    let input = input.map_err(|_| {
        let why = format!(
            "this provider takes a JSON object only as the arguments of a tool call; call {:?} has none",
            call.id
        );
        Fault::unsupported("messages", why)
    })?;
    Ok(Block::ToolUse { id: id(&call.id), name: &call.name, input })
}

fn tool_result(message: &Message) -> Result<Block<'_>, Fault> {
    let Some(call) = message.tool_call_id.as_deref() else {
        return Err(Fault {
            client: Some(ClientFault::InvalidRequest),
            param: Some("messages".to_owned()),
            ..Fault::new(FaultClass::Client, Phase::Connect, "a message of role tool has no tool_call_id")
        });
    };
    Ok(Block::ToolResult { tool_use_id: id(call), content: blocks(&message.content)? })
}

/// The provider accepts `[a-zA-Z0-9_-]` only; ids generated elsewhere (`functions.get:0`) are changed in the same way
/// in the call and in its result.
fn id(id: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(allowed) {
        return Cow::Borrowed(id);
    }
    id.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}
