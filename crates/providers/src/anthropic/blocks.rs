//! Content blocks of the request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Content, ContentPart, Fault, Image, ImageSource};

/// A content block of a message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

/// Image types that the provider accepts.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Converts texts and images in order. Blank texts are omitted: the provider rejects them.
pub(super) fn blocks(content: &Content) -> Result<Vec<Block<'_>>, Fault> {
    match content {
        Content::Text(text) => Ok(text_block(text).into_iter().collect()),
        Content::Parts(parts) => parts
            .iter()
            .filter_map(|part| match part {
                ContentPart::Text(text) => text_block(text).map(Ok),
                ContentPart::Image(image) => Some(image_block(image)),
            })
            .collect(),
    }
}

fn text_block(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { text })
}

fn image_block(image: &Image) -> Result<Block<'_>, Fault> {
    let source = match &image.source {
        ImageSource::Url(url) if url.starts_with("https:") => Source::Url { url },
        ImageSource::Url(_) => {
            return Err(Fault::unsupported(
                "messages",
                "this provider fetches images over https only: send the image as base64",
            ));
        }
        ImageSource::Data { media_type, base64 } if IMAGE_TYPES.contains(&media_type.as_str()) => {
            Source::Base64 { media_type, data: base64 }
        }
        ImageSource::Data { .. } => {
            let why = format!("this provider takes no images but {}", IMAGE_TYPES.join(", "));
            return Err(Fault::unsupported("messages", why));
        }
    };
    Ok(Block::Image { source })
}
