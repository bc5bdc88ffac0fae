//! Moderation: scores of the embedded model and of a provider's moderation endpoint; the higher one counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use muster_core::{Error, Kind};
use muster_media::Rgb;
use muster_models::{ModerationScores, Moderator};
use muster_providers::{Adapter, ImageSource, ModerationCall, ModerationReply, Timeouts};

use super::outcome::{Outcome, Payer};
use super::prompt::data;
use super::reply::moderated;
use super::{VisionEngine, VisionResult};
use crate::app::App;
use crate::chat;

/// Model of OpenAI's moderation endpoint that sees.
pub(super) const MODEL: &str = "omni-moderation-latest";
/// Categories of OpenAI's moderation endpoint.
const CATEGORIES: &[&str] = &[
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
];
/// Time for an answer.
const LIMIT: Duration = Duration::from_secs(10);

/// The provider whose moderation endpoint is called.
#[derive(Debug, Clone)]
pub(super) struct ModerationProvider {
    pub(super) id: String,
    adapter: Arc<dyn Adapter>,
}

/// Returns the provider of the settings, if it has its key.
pub(super) fn provider(app: &App) -> Option<ModerationProvider> {
    let live = app.live();
    let id = &live.config.media.moderation;
    let served = live.served.iter().find(|served| served.provider.id == *id && !id.is_empty())?;
    let able = live.registry().missing_key(id).is_none();
    able.then(|| ModerationProvider { id: id.clone(), adapter: Arc::clone(&served.provider.adapter) })
}

/// Calls the moderation endpoint.
pub(super) async fn assess(
    provider: &ModerationProvider,
    payer: &Payer,
    picture: &Arc<Rgb>,
) -> Result<ModerationReply, Error> {
    let picture = Arc::clone(picture);
    let source = web::block(move || data(&picture)).await.ok().flatten();
    let Some(ImageSource::Data { media_type, base64 }) = source else {
        return Err(Error::new(Kind::Internal, "the picture cannot be encoded for a provider"));
    };
    let call = ModerationCall {
        model: MODEL.to_owned(),
        image_url: format!("data:{media_type};base64,{base64}"),
        timeouts: Timeouts { connect: LIMIT, headers: LIMIT, first_delta: LIMIT, between_deltas: LIMIT },
        request_id: chat::request_id(&payer.http),
    };
    let reply = provider.adapter.moderate(call).await;
    reply.map_err(|fault| {
        tracing::warn!(provider = provider.id, fault = %fault.message, "a moderation endpoint did not answer");
        Error::new(Kind::ProviderFailed, format!("the moderation of {} did not answer", provider.id))
    })
}

/// Joins the scores; the higher one of a category counts.
pub(super) fn combined(
    own: Option<ModerationScores>,
    theirs: Option<ModerationReply>,
    id: &str,
    asked: bool,
    borderline: f64,
) -> Outcome {
    let mut scores = BTreeMap::<String, f64>::new();
    let (has_own, has_theirs) = (own.is_some(), theirs.is_some());
    if let Some(own) = own {
        scores.insert("sexual".to_owned(), own.sexual.into());
    }
    for (name, score) in theirs.map(|reply| reply.scores).unwrap_or_default() {
        let known = scores.entry(name).or_insert(score);
        *known = known.max(score);
    }
    let not_assessed = CATEGORIES.iter().filter(|name| !scores.contains_key(**name)).map(|name| (*name).to_owned());
    let not_assessed: Vec<String> = not_assessed.collect();
    let result = moderated(scores, not_assessed);
    let mut warnings = vec!["recall_unmeasured"];
    if !result.flagged && result.scores.values().any(|score| *score >= borderline) {
        warnings.push("borderline");
    }
    if asked && !has_theirs {
        warnings.push("provider_failed");
    }
    let (provider, model, method) = match (has_own, has_theirs) {
        (true, true) => (format!("embedded+{id}"), format!("{}+{MODEL}", Moderator::MODEL), "neural+moderation"),
        (false, true) => (id.to_owned(), MODEL.to_owned(), "moderation"),
        (_, false) => ("embedded".to_owned(), Moderator::MODEL.to_owned(), "neural"),
    };
    let outcome = Outcome::embedded(Moderator::MODEL, VisionResult::Moderated(result));
    Outcome { provider, model, method, warnings, ..outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(outcome: &Outcome) -> &super::super::result::ModeratedA {
        let VisionResult::Moderated(result) = &outcome.result else { panic!("a moderation") };
        result
    }

    #[test]
    fn the_higher_score_counts_and_what_is_not_assessed_is_said() {
        let theirs = ModerationReply { scores: [("sexual".to_owned(), 0.1), ("violence".to_owned(), 0.9)].into() };
        let both = combined(Some(ModerationScores { sexual: 0.3 }), Some(theirs), "openai", true, 0.2);
        let result = of(&both);
        assert_eq!((result.flagged, result.categories["sexual"], result.categories["violence"]), (true, false, true));
        assert_eq!(
            (result.scores["sexual"], both.method, both.provider.as_str()),
            (0.3, "neural+moderation", "embedded+openai")
        );
        assert!(
            result.not_assessed.contains(&"hate".to_owned()) && !result.not_assessed.contains(&"violence".to_owned())
        );
        let own = combined(Some(ModerationScores { sexual: 0.3 }), None, "", false, 0.2);
        assert_eq!(
            (of(&own).flagged, own.warnings.as_slice()),
            (false, ["recall_unmeasured", "borderline"].as_slice())
        );
        assert_eq!((of(&own).scores.len(), of(&own).not_assessed.len()), (1, CATEGORIES.len() - 1));
        let alone = combined(Some(ModerationScores { sexual: 0.85 }), None, "openai", true, 0.2);
        assert_eq!(
            (of(&alone).flagged, alone.warnings.as_slice()),
            (true, ["recall_unmeasured", "provider_failed"].as_slice())
        );
    }
}
