//! Tools: functions that a model may request its caller to run.

use serde_json::Value;

/// Maximum number of calls in one answer.
pub const MAX_CALLS: u32 = 4;

/// A function offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// 1 to 64 ASCII letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// Description for the model.
    pub description: Option<String>,
    /// JSON Schema of its arguments, an object; null and `{}` mean no arguments. Enforced by a grammar.
    pub parameters: Value,
}

/// Whether and which tools must be called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Text or calls, as the model decides.
    #[default]
    Auto,
    /// At least one call of any tool.
    Required,
    /// One call of this tool.
    Named(String),
}

/// The tools of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Toolbox {
    /// The tools; at least one.
    pub tools: Vec<Tool>,
    /// Whether and which tools must be called.
    pub choice: ToolChoice,
    /// Maximum number of calls in one answer, 1 to [`MAX_CALLS`]. A named tool is called once.
    pub most: u32,
}

/// A call that was made earlier in the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text.
    pub arguments: String,
}
