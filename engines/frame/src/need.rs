//! What `model` and `state` engines need from the server, and its answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that only the server can provide. It is provided in the name of the caller: within the caller's scopes,
/// limits and budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "need", rename_all = "snake_case")]
pub enum Need {
    /// Vectors of texts. The answer is `{vectors, model}`.
    Embed {
        /// The texts.
        texts: Vec<String>,
        /// Name of the model.
        model: String,
    },
    /// A completion. The answer is `{text, model}`; with a schema `text` is JSON that follows it.
    Chat {
        /// Messages, as `{role, content}`.
        messages: Vec<ChatMessage>,
        /// JSON Schema of the answer.
        schema: Option<Value>,
        /// Maximum length of the answer.
        max_tokens: u32,
    },
    /// A translation by the engines of `POST /api/translate`, in the order of the settings. The answer is `{translation,
    /// method, provider, model, route, suspects}`; `suspects` are the segments that should be looked at, as `{text,
    /// reasons}`: one with the reason `untranslated` stands in its own language.
    Translate {
        /// Plain text.
        text: String,
        /// Code of its language.
        from: String,
        /// Code of the language to translate to.
        to: String,
        /// Terms of the text with their translations.
        glossary: BTreeMap<String, String>,
    },
    /// A request to the model gateway, as `POST /api/q159/llm/chat` takes it, with `tools` and `response_schema`. The
    /// answer is its response with `tool_calls`, and `breakers`: the state of the circuit breaker by provider.
    Gateway {
        /// The request.
        request: Value,
    },
    /// Entries of the caller's memory: the best for a query by the memory's own ranking; for a blank query the newest. The
    /// answer is `{entries, total, warnings}`, an entry `{id, text, time, score, bm25, cosine, highlight}`.
    Memory {
        /// What is looked for.
        query: String,
        /// How entries are ranked.
        ranking: MemoryRanking,
        /// Maximum number of entries, 1 to 200.
        top: usize,
    },
    /// One frame of the agent monitor, of what the caller may see.
    Tasks {
        /// The input of the monitor: `agents`, `states`, `log_lines`.
        request: Value,
    },
}

/// How entries of memory are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRanking {
    /// By words and vectors together.
    Hybrid,
    /// By words only.
    Lexical,
    /// By vectors only.
    Vector,
}

/// A message of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

impl Need {
    /// Returns the name of the kind of need.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Embed { .. } => "embed",
            Self::Chat { .. } => "chat",
            Self::Translate { .. } => "translate",
            Self::Gateway { .. } => "gateway",
            Self::Memory { .. } => "memory",
            Self::Tasks { .. } => "tasks",
        }
    }
}

/// Answer of the server to a need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was provided.
    Given(Value),
    /// It was not: the caller has no scope or budget for it, or no provider is configured.
    Refused {
        /// Why not.
        why: String,
    },
}

/// A need and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// What was needed.
    pub need: Need,
    /// What was answered.
    pub answer: Answer,
}
