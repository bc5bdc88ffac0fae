//! Pictures from text: the public request method of the chain, a file of its own beside those of texts.

use std::sync::Arc;

use futures::FutureExt;
use muster_core::Kind;
use muster_limits::ledger::Outcome;
use muster_providers::{Billed, Fault, ImageCall, ImageReply, Phase, Usage};
use tokio::time::Instant;

use super::balance::LatencyKind;
use super::budget::Requested;
use super::chain::{Chain, Route};
use super::failover::{Failover, RequestLimits};
use super::messages::{ChainError, CheckedPicture, CompletedImages, GatewayImageRequest, PictureCheck, Unchecked};
use super::permitted::permitted;
use super::service::record_failure;

/// Pictures of one provider, checked.
struct Drawn {
    pictures: Vec<CheckedPicture>,
    usage: Option<Usage>,
}

impl Chain {
    /// Returns pictures drawn from a text: all that were requested. A provider whose answer holds something that is no
    /// picture has failed. Dropping the future cancels the provider's calls.
    ///
    /// # Errors
    /// [`ChainError`] when no provider drew them; its error says what the failed calls cost. A refusal of the prompt is
    /// returned at once.
    pub async fn draw(&self, request: GatewayImageRequest) -> Result<CompletedImages, ChainError> {
        let started = Instant::now();
        let requested_model = request.model.as_deref();
        let entry = self.pending_entry(request.spend.as_ref(), request.model.as_ref());
        let resolved = self.registry().resolve_image(requested_model);
        let routes = match self.routes(resolved, requested_model) {
            Ok(routes) => routes,
            Err(error) => return Err(record_failure(entry, error)),
        };
        let rules = request.spend.as_ref().map(|spend| &spend.models);
        let routes = match permitted(self.registry(), routes, request.model.as_slice(), rules) {
            Ok(routes) => routes,
            Err(error) => return Err(record_failure(entry, error)),
        };
        let routes = self.balanced(routes, LatencyKind::Complete);
        let limits = RequestLimits {
            requested_model,
            request_id: &request.request_id,
            request: Requested::Images(&request.request),
            paid_by: self.paid_by(request.spend.as_ref()),
            ..RequestLimits::default()
        };
        let drawing = Failover::new(self.options(), limits, routes, started).run(|route| {
            let drawn = route.member.provider.adapter.image(self.image_call(&request, route));
            let check = Arc::clone(&request.check);
            async move { checked(drawn.await?, &*check).await }.boxed()
        });
        let served = match drawing.await {
            Ok(served) => served,
            Err(error) => return Err(record_failure(entry, error)),
        };
        served.permit.done(served.latency);
        let candidate = served.route.candidate;
        let Drawn { pictures, usage } = served.value;
        let images = u32::try_from(pictures.len()).unwrap_or(u32::MAX);
        let usage = usage.unwrap_or_else(|| {
            let prompt_tokens = self.counter().text(&candidate.model_id, &request.request.prompt);
            let price = candidate.image.as_ref().and_then(|image| image.price);
            let completion_tokens = price.map_or(0, |price| price.dearest(prompt_tokens, images).completion_tokens);
            Usage { prompt_tokens, completion_tokens, estimated: true }
        });
        let cost_nanos = candidate.call_price().map(|price| price.nanos(usage, images));
        let mut entry = entry;
        entry.answered_by(&candidate.provider_id, &candidate.model_id, served.hold);
        entry.close_with_images(Outcome::Ok, usage, images, cost_nanos);
        Ok(CompletedImages {
            pictures,
            usage,
            model_id: candidate.model_id,
            provider_id: candidate.provider_id,
            substitute: served.substitute,
            attempts: served.attempts,
            cost_nanos,
            latency: started.elapsed(),
        })
    }

    fn image_call(&self, request: &GatewayImageRequest, route: &Route) -> ImageCall {
        let candidate = &route.candidate;
        let known = candidate.image.as_deref();
        let wanted = &request.request;
        ImageCall {
            upstream_model: candidate.upstream_model.clone(),
            shape: known.map(|image| image.shapes.nearest(wanted.size)).unwrap_or_default(),
            quality: known.and_then(|image| image.quality(wanted.quality)),
            per_call: known.map_or(u32::MAX, |image| image.per_call),
            requests_base64: known.is_some_and(|image| image.requests_base64),
            request: Arc::clone(wanted),
            timeouts: route.timeouts(self.options()),
            request_id: request.request_id.clone(),
            traceparent: request.traceparent.clone(),
        }
    }
}

/// Checks the pictures of a reply. What is not a picture is billed all the same.
async fn checked(reply: ImageReply, check: &dyn PictureCheck) -> Result<Drawn, Fault> {
    let (billed, usage) = (reply.billed(), reply.usage);
    match check.check(reply.images).await {
        Ok(pictures) => Ok(Drawn { pictures, usage }),
        Err(unchecked) => Err(fault(unchecked, billed)),
    }
}

fn fault(unchecked: Unchecked, billed: Billed) -> Fault {
    let fault = match unchecked {
        Unchecked::Malformed(why) => Fault::transient(Phase::Body, format!("sent a malformed answer: {why}")),
        // The form of an in-process part that is not ready: no provider is blamed.
        Unchecked::Unavailable(error) => {
            let wait = error.retry_after.unwrap_or(std::time::Duration::from_secs(1));
            debug_assert!(error.kind != Kind::Invalid, "a picture that is refused is malformed");
            Fault::transient(Phase::Connect, error.message).with_retry_after(wait)
        }
    };
    Fault { billed: Some(billed), ..fault }
}
