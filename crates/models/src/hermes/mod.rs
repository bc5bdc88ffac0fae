//! Tool calling in the form shared by Qwen2.5's chat template and the Hermes models: tools in the system message, each
//! call between `<tool_call>` and `</tool_call>`, each result between `<tool_response>` and `</tool_response>`.

mod calls;
mod grammar;
mod prompt;

pub(crate) use calls::{CallEvent, CallParser, Trigger};
pub(crate) use grammar::{AnswerForm, grammar};
pub(crate) use prompt::turns_with_tools;

/// Marks the beginning of a call. The grammar and the parser must use the same text.
const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
/// From `OPEN` to the tool's name.
const BEFORE_NAME: &str = "\n{\"name\": \"";
/// From the tool's name to its arguments.
const AFTER_NAME: &str = "\", \"arguments\": ";
