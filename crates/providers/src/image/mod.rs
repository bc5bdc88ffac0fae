//! Calls of one provider for pictures from text.

mod price;
mod size;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Timeouts, Usage};

pub use price::{CallPrice, ImagePrice};
pub use size::{AspectRatio, ImageShape, ImageShapes, ImageSize};

/// Largest number of pictures of one request.
pub const MAX_IMAGES: u32 = 4;

/// Quality of a picture, as providers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageQuality {
    /// Fewest tokens.
    Low,
    /// Interface A's `standard`.
    Medium,
    /// Interface A's `hd`.
    High,
}

impl ImageQuality {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Background of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageBackground {
    /// As the model chooses.
    #[default]
    Auto,
    /// Without transparency.
    Opaque,
}

/// Pictures to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRequest {
    /// Description of the pictures.
    pub prompt: String,
    /// Number of pictures, 1 to [`MAX_IMAGES`].
    pub n: u32,
    /// Size that each picture is to have; `None` leaves it to the model.
    pub size: Option<ImageSize>,
    /// `None` leaves it to the model.
    pub quality: Option<ImageQuality>,
    /// Background.
    pub background: ImageBackground,
    /// Identifier of the caller's end user, forwarded where a provider accepts it.
    pub user: Option<String>,
}

/// One call of one provider for pictures.
#[derive(Debug, Clone)]
pub struct ImageCall {
    /// Name of the model at the provider.
    pub upstream_model: String,
    /// What to draw.
    pub request: Arc<ImageRequest>,
    /// Size or aspect ratio to request of this model.
    pub shape: ImageShape,
    /// Quality to request of this model; `None` requests none.
    pub quality: Option<ImageQuality>,
    /// Largest number of pictures that the model draws in one call, at least 1.
    pub per_call: u32,
    /// Whether base64 has to be requested with `response_format`.
    pub requests_base64: bool,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Forwarded as `X-Request-Id`.
    pub request_id: String,
    /// W3C trace context, forwarded as `traceparent`.
    pub traceparent: Option<String>,
}

/// Content of a picture as a provider returned it, untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageData {
    /// The bytes of a file.
    Bytes(Vec<u8>),
    /// Where the file is.
    Url(String),
}

/// One picture of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyImage {
    /// Its content.
    pub data: ImageData,
    /// What the model drew instead of the prompt, if it says so.
    pub revised_prompt: Option<String>,
}

/// Pictures from a provider: as many as were requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReply {
    /// The pictures.
    pub images: Vec<ReplyImage>,
    /// Usage as reported by the provider, if it was.
    pub usage: Option<Usage>,
    /// Model name reported by the provider, or the requested one.
    pub model: String,
}

impl ImageReply {
    /// Returns what the provider bills for the reply.
    pub fn billed(&self) -> Billed {
        Billed { usage: self.usage, images: u32::try_from(self.images.len()).unwrap_or(u32::MAX) }
    }
}

/// What a provider bills for a call that failed as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Billed {
    /// Usage as reported; `None` if it was not.
    pub usage: Option<Usage>,
    /// Pictures that were drawn.
    pub images: u32,
}

impl Billed {
    /// Adds what another part of the call costs. Usage is known only if it is of both parts.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        let usage = match (self.usage, other.usage) {
            _ if self.images == 0 => other.usage,
            _ if other.images == 0 => self.usage,
            (Some(one), Some(other)) => Some(one.and(other)),
            _ => None,
        };
        Self { usage, images: self.images.saturating_add(other.images) }
    }
}

/// Returns the number of pictures of each call that together draw `n`.
pub(crate) fn split(n: u32, per_call: u32) -> Vec<u32> {
    let per_call = per_call.max(1);
    let n = n.clamp(1, MAX_IMAGES);
    (0..n).step_by(per_call as usize).map(|drawn| per_call.min(n - drawn)).collect()
}

/// Joins the replies of the calls of one request: all pictures, or the first fault with what the others cost.
pub(crate) fn joined(replies: Vec<Result<ImageReply, crate::Fault>>) -> Result<ImageReply, crate::Fault> {
    let billed = replies.iter().filter_map(|reply| reply.as_ref().ok()).map(ImageReply::billed);
    let billed = billed.fold(Billed::default(), Billed::and);
    let mut whole = ImageReply { images: Vec::new(), usage: billed.usage, model: String::new() };
    let mut fault: Option<crate::Fault> = None;
    let mut failed = Billed::default();
    for reply in replies {
        match reply {
            Ok(reply) => {
                whole.images.extend(reply.images);
                whole.model = reply.model;
            }
            Err(other) => {
                failed = other.billed.map_or(failed, |part| failed.and(part));
                // A refusal of the prompt says more than a failure of one of the calls.
                if fault.as_ref().is_none_or(|fault| fault.client.is_none() && other.client.is_some()) {
                    fault = Some(other);
                }
            }
        }
    }
    let Some(fault) = fault else { return Ok(whole) };
    let all = billed.and(failed);
    Err(crate::Fault { billed: (all.images > 0).then_some(all).or(fault.billed), ..fault })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientFault, Fault, FaultClass, Phase};

    fn reply(tokens: Option<u32>) -> ImageReply {
        let usage = tokens.map(|tokens| Usage { prompt_tokens: 1, completion_tokens: tokens, estimated: false });
        let image = ReplyImage { data: ImageData::Bytes(vec![1]), revised_prompt: None };
        ImageReply { images: vec![image], usage, model: "m".to_owned() }
    }

    #[test]
    fn calls_draw_all_pictures_together() {
        assert_eq!(split(4, 10), [4]);
        assert_eq!(split(4, 1), [1, 1, 1, 1]);
        assert_eq!(split(4, 3), [3, 1]);
        assert_eq!(split(0, 0), [1]);
    }

    #[test]
    fn replies_are_joined_with_the_sum_of_their_usage() {
        let whole = joined(vec![Ok(reply(Some(5))), Ok(reply(Some(7)))]).unwrap();
        assert_eq!(whole.images.len(), 2);
        assert_eq!(whole.usage, Some(Usage { prompt_tokens: 2, completion_tokens: 12, estimated: false }));
        assert_eq!(joined(vec![Ok(reply(Some(5))), Ok(reply(None))]).unwrap().usage, None);
    }

    #[test]
    fn a_fault_of_one_call_states_what_the_others_cost_and_a_refusal_precedes() {
        let broken = Fault::transient(Phase::Body, "it broke");
        let refused = Fault {
            client: Some(ClientFault::ContentPolicy),
            ..Fault::new(FaultClass::Client, Phase::Body, "not this")
        };
        let fault = joined(vec![Err(broken.clone()), Ok(reply(Some(5))), Err(refused)]).unwrap_err();
        assert_eq!(fault.client, Some(ClientFault::ContentPolicy));
        let usage = Some(Usage { prompt_tokens: 1, completion_tokens: 5, estimated: false });
        assert_eq!(fault.billed, Some(Billed { usage, images: 1 }));
        assert_eq!(joined(vec![Err(broken)]).unwrap_err().billed, None);
    }
}
