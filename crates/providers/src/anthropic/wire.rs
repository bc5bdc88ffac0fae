//! JSON of the answer: a complete message, and the events of a stream. Parsed leniently: unknown kinds of blocks,
//! deltas and events are skipped, as the provider's versioning rules require.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{FinishReason, Usage};

/// A complete answer, and the content of `message_start`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Message {
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) content: Vec<Block>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<TokenCounts>,
}

/// A block of the answer. Thinking blocks and the provider's own tools are not part of it.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Map<String, Value>,
    },
    #[serde(other)]
    Other,
}

/// Cumulative token counts; each stream event carries those that it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct TokenCounts {
    input_tokens: Option<u32>,
    cache_creation_input_tokens: Option<u32>,
    cache_read_input_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

impl TokenCounts {
    /// Later counts replace earlier ones.
    pub(super) fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
    }

    /// `input_tokens` counts only tokens after the last cache breakpoint: the prompt is the sum of all three counts.
    pub(super) fn usage(self) -> Option<Usage> {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens].into_iter().flatten();
        Some(Usage {
            prompt_tokens: cached.fold(self.input_tokens?, u32::saturating_add),
            completion_tokens: self.output_tokens?,
            estimated: false,
        })
    }
}

/// An event of a stream.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        index: u32,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u32,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: u32,
    },
    MessageDelta {
        delta: Ending,
        usage: Option<TokenCounts>,
    },
    MessageStop,
    Error,
    /// Pings, and unknown events.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Ending {
    pub(super) stop_reason: Option<String>,
}

/// Maps a stop reason.
pub(super) fn finish(stop_reason: &str) -> FinishReason {
    match stop_reason {
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::ContentFilter,
        // `end_turn`, `stop_sequence`, and `pause_turn`, which only the provider's own tools cause.
        _ => FinishReason::Stop,
    }
}
