//! Encodes the caller's tools for this API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::schema::convert_schema;
use crate::{ChatRequest, Fault, Tool, ToolChoice};

#[derive(Debug, Serialize)]
pub(super) struct WireTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WireChoice<'a> {
    Auto {
        #[serde(skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    None,
    Any {
        #[serde(skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    Tool {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
}

pub(super) fn tools(request: &ChatRequest) -> Result<Vec<WireTool<'_>>, Fault> {
    request.tools.iter().map(tool).collect()
}

fn tool(tool: &Tool) -> Result<WireTool<'_>, Fault> {
    let strict = tool.strict.filter(|strict| *strict);
    let input_schema = if strict.is_some() {
        let narrowed = convert_schema(&tool.parameters);
        Cow::Owned(narrowed.map_err(|why| Fault::unsupported("tools", format!("tool {:?}, strict: {why}", tool.name)))?)
    } else {
        typed(&tool.parameters)
    };
    Ok(WireTool { name: &tool.name, description: tool.description.as_deref(), input_schema, strict })
}

/// The provider requires `"type": "object"`, which OpenAI lets a tool without arguments omit.
fn typed(parameters: &Value) -> Cow<'_, Value> {
    match parameters {
        Value::Object(map) if !map.contains_key("type") => {
            let mut map = map.clone();
            map.insert("type".to_owned(), "object".into());
            Cow::Owned(Value::Object(map))
        }
        other => Cow::Borrowed(other),
    }
}

/// Returns `None` for the provider's default, and without tools.
pub(super) fn choice(request: &ChatRequest) -> Option<WireChoice<'_>> {
    if request.tools.is_empty() {
        return None;
    }
    let disable_parallel_tool_use = request.parallel_tool_calls.filter(|parallel| !parallel).map(|_| true);
    match &request.tool_choice {
        ToolChoice::Auto => {
            disable_parallel_tool_use.map(|only| WireChoice::Auto { disable_parallel_tool_use: Some(only) })
        }
        ToolChoice::None => Some(WireChoice::None),
        ToolChoice::Required => Some(WireChoice::Any { disable_parallel_tool_use }),
        ToolChoice::Named(name) => Some(WireChoice::Tool { name, disable_parallel_tool_use }),
    }
}
