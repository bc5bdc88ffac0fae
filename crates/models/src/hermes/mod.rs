//! Tools in the form that Qwen2.5's chat template and the Hermes models share: the tools in the system turn, each call
//! between `<tool_call>` and `</tool_call>`, each result between `<tool_response>` and `</tool_response>`.

mod calls;
mod grammar;
mod prompt;

pub(crate) use calls::{CallParser, Heard, Trigger};
pub(crate) use grammar::{Otherwise, grammar};
pub(crate) use prompt::turns_with_tools;

/// Begins a call. What the grammar holds a model to and what is read back must stay the same text.
const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
/// From `OPEN` to the tool's name.
const BEFORE_NAME: &str = "\n{\"name\": \"";
/// From the tool's name to its arguments.
const AFTER_NAME: &str = "\", \"arguments\": ";
