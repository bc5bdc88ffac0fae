//! Size of everything that a request puts before a model, which is what a provider bills as its prompt.
//!
//! This is the one list of what is counted: reservations, token limits and counted usage all use it.

use std::io::{self, Write};

use serde::Serialize;

use crate::{ChatRequest, Content, ContentPart, Image, Message, ResponseFormat, Tool};

/// Approximate number of tokens for the markup of a message, a tool call or a tool.
const MARKUP_TOKENS: u64 = 4;

/// The parts of a request that reach the model.
#[derive(Debug, Clone)]
pub struct PromptParts<'a> {
    /// Messages, including the system prompt.
    pub messages: Vec<&'a Message>,
    /// Tools.
    pub tools: &'a [Tool],
    /// Required form of the answer; a schema is part of the prompt.
    pub format: &'a ResponseFormat,
    /// Bytes of members that are forwarded unparsed.
    pub unparsed_bytes: usize,
}

/// Bytes of a text by kind, and its items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptSize {
    /// Bytes of ASCII characters.
    pub ascii: u64,
    /// Bytes of all other characters, of which a tokenizer needs more tokens.
    pub other: u64,
    /// Messages, tool calls, tools and schemas.
    pub items: u64,
}

impl ChatRequest {
    /// Returns the parts that reach the model.
    pub fn prompt_parts(&self) -> PromptParts<'_> {
        PromptParts {
            messages: self.messages.iter().collect(),
            tools: &self.tools,
            format: &self.format,
            unparsed_bytes: self.unparsed_bytes,
        }
    }
}

impl<'a> PromptParts<'a> {
    /// Returns the size of all text.
    pub fn size(&self) -> PromptSize {
        let mut size = PromptSize { ascii: self.unparsed_bytes as u64, ..PromptSize::default() };
        self.each_plain(&mut |text| size.add(text));
        for schema in self.schemas() {
            // Writing to a counter cannot fail.
            let _ = serde_json::to_writer(Counting(&mut size), schema);
        }
        size.items = self.items();
        size
    }

    /// Calls `each` with every text, for a tokenizer. A schema is a text of its own; unparsed members are missing.
    pub fn each_text(&self, mut each: impl FnMut(&str)) {
        self.each_plain(&mut each);
        for schema in self.schemas() {
            each(&schema.to_string());
        }
    }

    /// Returns the images.
    pub fn images(&self) -> impl Iterator<Item = &'a Image> {
        self.messages.iter().flat_map(|message| message.content.images())
    }

    /// Returns the number of messages, tool calls, tools and schemas.
    fn items(&self) -> u64 {
        let calls: usize = self.messages.iter().map(|message| message.tool_calls.len()).sum();
        let schema = usize::from(matches!(self.format, ResponseFormat::JsonSchema { .. }));
        (self.messages.len() + calls + self.tools.len() + schema) as u64
    }

    /// Returns the tokens of the markup between the texts.
    pub fn markup_tokens(&self) -> u32 {
        u32::try_from(self.items().saturating_mul(MARKUP_TOKENS)).unwrap_or(u32::MAX)
    }

    fn each_plain(&self, each: &mut dyn FnMut(&str)) {
        for message in &self.messages {
            match &message.content {
                Content::Text(text) => each(text),
                Content::Parts(parts) => {
                    for part in parts {
                        if let ContentPart::Text(text) = part {
                            each(text);
                        }
                    }
                }
            }
            for call in &message.tool_calls {
                [&call.id, &call.name, &call.arguments].into_iter().for_each(|text| each(text));
            }
            message.name.iter().chain(&message.tool_call_id).for_each(|text| each(text));
        }
        for tool in self.tools {
            each(&tool.name);
            tool.description.iter().for_each(|text| each(text));
        }
        if let ResponseFormat::JsonSchema { name, .. } = self.format {
            each(name);
        }
    }

    fn schemas(&self) -> impl Iterator<Item = &'a serde_json::Value> {
        let format = match self.format {
            ResponseFormat::JsonSchema { schema, .. } => Some(schema),
            ResponseFormat::Text | ResponseFormat::JsonObject => None,
        };
        self.tools.iter().map(|tool| &tool.parameters).chain(format)
    }
}

impl PromptSize {
    /// Returns the size of one text.
    pub fn of(text: &str) -> Self {
        let mut size = Self::default();
        size.add(text);
        size
    }

    /// Returns all bytes.
    pub fn bytes(self) -> u64 {
        self.ascii.saturating_add(self.other)
    }

    /// Returns a number of tokens that common tokenizers rarely exceed: one for every three bytes of ASCII and every two
    /// bytes of other characters, and the markup. Money and limits are reserved by it.
    pub fn reserved_tokens(self) -> u32 {
        let tokens = self.ascii.div_ceil(3) + self.other.div_ceil(2) + self.items.saturating_mul(MARKUP_TOKENS);
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    fn add(&mut self, text: &str) {
        self.add_bytes(text.as_bytes());
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count() as u64;
        self.ascii += ascii;
        self.other += bytes.len() as u64 - ascii;
    }
}

/// Returns the length of a value as JSON text.
pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut size = PromptSize::default();
    // Writing to a counter cannot fail.
    let _ = serde_json::to_writer(Counting(&mut size), value);
    usize::try_from(size.bytes()).unwrap_or(usize::MAX)
}

struct Counting<'a>(&'a mut PromptSize);

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add_bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Role, ToolCall};

    /// Each part of a request is counted: leaving one out makes the prompt smaller by at least its text.
    #[test]
    fn everything_that_is_sent_counts() {
        let call = ToolCall { id: "call_0123456789".into(), name: "find".into(), arguments: "a".repeat(300) };
        let full = ChatRequest {
            messages: vec![
                Message { name: Some("n".repeat(60)), ..Message::text(Role::User, "u".repeat(900)) },
                Message { tool_calls: vec![call], ..Message::text(Role::Assistant, "") },
            ],
            tools: vec![Tool {
                name: "t".repeat(60),
                description: Some("d".repeat(600)),
                parameters: json!({ "type": "object", "title": "p".repeat(1200) }),
                strict: None,
            }],
            format: ResponseFormat::JsonSchema {
                name: "answer".into(),
                schema: json!({ "x": "s".repeat(1500) }),
                strict: None,
            },
            unparsed_bytes: 3000,
            ..ChatRequest::default()
        };
        let tokens = |change: &dyn Fn(&mut ChatRequest)| {
            let mut request = full.clone();
            change(&mut request);
            request.prompt_parts().size().reserved_tokens()
        };
        let whole = tokens(&|_| {});
        /// Least number of tokens of a part, and the change that removes it.
        type Part<'a> = (u32, &'a dyn Fn(&mut ChatRequest));
        let parts: [Part<'_>; 8] = [
            (300, &|request| request.messages[0].content = Content::Text(String::new())),
            (20, &|request| request.messages[0].name = None),
            (100, &|request| request.messages[1].tool_calls.clear()),
            (20, &|request| request.tools[0].name.clear()),
            (200, &|request| request.tools[0].description = None),
            (400, &|request| request.tools[0].parameters = json!({})),
            (500, &|request| request.format = ResponseFormat::Text),
            (1000, &|request| request.unparsed_bytes = 0),
        ];
        for (place, (at_least, change)) in parts.into_iter().enumerate() {
            assert!(tokens(change) + at_least <= whole, "part {place}: {} of {whole}", tokens(change));
        }
        let mut bytes = 0;
        full.prompt_parts().each_text(|text| bytes += text.len());
        assert_eq!(bytes as u64 + 3000, full.prompt_parts().size().bytes(), "both count the same texts");
    }

    #[test]
    fn characters_beyond_ascii_count_for_more() {
        assert_eq!(PromptSize::of("abcdef").reserved_tokens(), 2);
        assert_eq!(PromptSize::of("漢字").reserved_tokens(), 3);
        assert_eq!(json_bytes(&json!({ "a": [1, "é"] })), r#"{"a":[1,"é"]}"#.len());
    }
}
