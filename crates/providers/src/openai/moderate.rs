//! Moderation of pictures.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::Server;
use super::send::unwritable;
use crate::http::{Mode, Post, Reporter, RequestText, post, read_body};
use crate::{Fault, ModerationCall, ModerationReply, Phase};

#[derive(Deserialize)]
struct Answer {
    results: Vec<Assessed>,
}

#[derive(Deserialize)]
struct Assessed {
    category_scores: BTreeMap<String, f64>,
    /// Which parts of the input each category was judged by.
    #[serde(default)]
    category_applied_input_types: BTreeMap<String, Vec<String>>,
}

pub(super) async fn moderate(server: Arc<Server>, call: ModerationCall) -> Result<ModerationReply, Fault> {
    let image = json!({ "type": "image_url", "image_url": { "url": call.image_url } });
    let body = json!({ "model": call.model, "input": [image] });
    let reporter = Reporter::new(Arc::clone(&server.origin), RequestText::None);
    let request = Post {
        url: server.moderations.clone(),
        body: Bytes::from(serde_json::to_vec(&body).map_err(unwritable)?),
        mode: Mode::Whole,
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: None,
    };
    let response = post(&server.origin, &reporter, request).await?;
    let body = read_body(&reporter, response, call.timeouts.first_delta, Phase::Body).await?;
    read(&body).ok_or_else(|| reporter.transient(Phase::Body, format_args!("sent a malformed answer")))
}

/// Reads the scores of the categories that were judged by the picture.
fn read(body: &[u8]) -> Option<ModerationReply> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let Assessed { mut category_scores, category_applied_input_types: applied } = answer.results.into_iter().next()?;
    let by_picture = |name: &String| applied.get(name).is_some_and(|types| types.iter().any(|kind| kind == "image"));
    category_scores.retain(|name, _| by_picture(name));
    let fits = !category_scores.is_empty() && category_scores.values().all(|score| (0.0..=1.0).contains(score));
    fits.then_some(ModerationReply { scores: category_scores })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_that_were_not_judged_by_the_picture_are_left_out() {
        // Shortened from the example of OpenAI's guide "Moderation".
        let body = br#"{"id": "modr-970d409", "model": "omni-moderation-latest", "results": [{"flagged": true,
            "categories": {"sexual": false, "harassment": false, "violence": true},
            "category_scores": {"sexual": 2.34e-7, "harassment": 0.0011, "violence": 0.9999},
            "category_applied_input_types": {"sexual": ["image"], "harassment": [], "violence": ["image"]}}]}"#;
        let reply = read(body).unwrap();
        assert_eq!(
            reply.scores.into_iter().collect::<Vec<_>>(),
            [("sexual".to_owned(), 2.34e-7), ("violence".to_owned(), 0.9999)]
        );
        assert!(read(b"{\"results\": []}").is_none());
        assert!(read(b"{\"results\": [{\"category_scores\": {\"sexual\": 0.5}}]}").is_none());
    }
}
