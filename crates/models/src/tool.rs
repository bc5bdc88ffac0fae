//! Tools: functions that a model may ask its caller to call.

use serde_json::Value;

/// Calls that one answer can hold.
pub const MAX_CALLS: u32 = 4;

/// A function as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// 1 to 64 ASCII letters, digits, `_`, `-` and `.`.
    pub name: String,
    pub description: Option<String>,
    /// JSON Schema of its arguments, an object; null and `{}` stand for no arguments. Enforced by a grammar.
    pub parameters: Value,
}

/// Whether and which tools are to be asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Text or calls, as the model sees fit.
    #[default]
    Auto,
    /// At least one call, whichever.
    Required,
    /// One call of this tool.
    Named(String),
}

/// The tools of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Toolbox {
    /// At least one.
    pub tools: Vec<Tool>,
    pub choice: ToolChoice,
    /// Calls in one answer at most: 1 to [`MAX_CALLS`]. A named tool is called once.
    pub most: u32,
}

/// A call that was made earlier in the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub name: String,
    /// JSON text.
    pub arguments: String,
}
