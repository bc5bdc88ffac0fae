//! Pictures through the same failover as answers.

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use muster_providers::{
    Adapter, ClientFault, ImageBackground, ImageCall, ImageData, ImageReply, ImageRequest, ReplyImage,
};

use super::*;
use crate::{CheckedPicture, GatewayImageRequest, PictureCheck, Unchecked};
use AttemptOutcome::{Client, NotReady, Ok as Answered, Transient};

/// Draws these bytes for each picture, or fails.
#[derive(Debug, Clone)]
struct Drawing(Result<&'static [u8], Fault>);

impl Adapter for Drawing {
    fn complete(&self, _: muster_providers::Call) -> BoxFuture<'static, Result<muster_providers::ChatReply, Fault>> {
        ready(Err(fault(FaultClass::Hard))).boxed()
    }

    fn stream(&self, _: muster_providers::Call) -> BoxFuture<'static, Result<muster_providers::ChatStream, Fault>> {
        ready(Err(fault(FaultClass::Hard))).boxed()
    }

    fn image(&self, call: ImageCall) -> BoxFuture<'static, Result<ImageReply, Fault>> {
        let image = |bytes: &[u8]| ReplyImage { data: ImageData::Bytes(bytes.to_vec()), revised_prompt: None };
        let images = |bytes: &[u8]| (0..call.request.n).map(|_| image(bytes)).collect();
        let reply =
            self.0.clone().map(|bytes| ImageReply { images: images(bytes), usage: None, model: "m".to_owned() });
        ready(reply).boxed()
    }
}

/// Takes "png" for a picture, and is busy for "busy".
#[derive(Debug)]
struct Check;

impl PictureCheck for Check {
    fn check(&self, images: Vec<ReplyImage>) -> BoxFuture<'static, Result<Vec<CheckedPicture>, Unchecked>> {
        let one = |image: ReplyImage| match image.data {
            ImageData::Bytes(png) if png == b"png" => {
                Ok(CheckedPicture { png, width: 1, height: 1, revised_prompt: None })
            }
            ImageData::Bytes(other) if other == b"busy" => {
                Err(Unchecked::Unavailable(Error::new(muster_core::Kind::Unavailable, "busy")))
            }
            _ => Err(Unchecked::Malformed("no picture".to_owned())),
        };
        ready(images.into_iter().map(one).collect()).boxed()
    }
}

fn request(n: u32) -> GatewayImageRequest {
    let request = ImageRequest {
        prompt: "a boat".to_owned(),
        n,
        size: None,
        quality: None,
        background: ImageBackground::Auto,
        user: None,
    };
    GatewayImageRequest {
        model: Some("drawer".to_owned()),
        request: Arc::new(request),
        check: Arc::new(Check),
        request_id: "req_1".to_owned(),
        traceparent: None,
        spend: None,
    }
}

async fn drawing_chain(tree: &Tree, drawings: &[Drawing]) -> Chain {
    let settings: Vec<_> = NAMES.iter().take(drawings.len()).map(|id| settings(id, &["drawer"])).collect();
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let registry = Arc::new(Registry::new(catalogue, &settings, None).unwrap());
    let provider = |(settings, drawing): (&ProviderSettings, &Drawing)| Provider {
        id: settings.id.clone(),
        kind: ProviderKind::OpenAi,
        models: settings.models.clone(),
        adapter: Arc::new(drawing.clone()),
        timeouts: ProviderTimeouts::default(),
        weight: 1,
    };
    let providers = settings.iter().zip(drawings).map(provider).collect();
    let (group, arbiters) = (tree.group("chain"), [Arbiter::current()]);
    let clock = Clock::tokio(test_world::START);
    let options = ChainOptions { retries: 0, ..options() };
    let chain = Chain::start(&group, &arbiters, registry, providers, Arc::new(WordCounter), options, &clock, None);
    until_running(tree).await;
    chain
}

#[test]
fn the_next_provider_draws_where_one_fails_or_sends_no_picture() {
    test_world::run(|tree| async move {
        let drawings = [Drawing(Err(fault(FaultClass::Transient))), Drawing(Ok(b"text")), Drawing(Ok(b"png"))];
        let chain = drawing_chain(&tree, &drawings).await;
        let drawn = chain.draw(request(2)).await.unwrap();
        assert_eq!(drawn.pictures.len(), 2);
        assert_eq!((drawn.provider_id.as_str(), drawn.model_id.as_str(), drawn.cost_nanos), ("three", "drawer", None));
        assert_eq!(outcomes(&drawn.attempts), [("one", Transient), ("two", Transient), ("three", Answered)]);
    });
}

#[test]
fn a_refused_prompt_is_returned_at_once() {
    test_world::run(|tree| async move {
        let refusal = Fault { client: Some(ClientFault::ContentPolicy), ..fault(FaultClass::Client) };
        let chain = drawing_chain(&tree, &[Drawing(Err(refusal)), Drawing(Ok(b"png"))]).await;
        let refused = chain.draw(request(1)).await.unwrap_err();
        assert_eq!(outcomes(&refused.attempts), [("one", Client)]);
        assert_eq!(refused.error.code, Some("content_policy_violation"));
    });
}

#[test]
fn a_check_that_is_busy_blames_no_provider() {
    test_world::run(|tree| async move {
        let chain = drawing_chain(&tree, &[Drawing(Ok(b"busy"))]).await;
        let refused = chain.draw(request(1)).await.unwrap_err();
        assert_eq!(outcomes(&refused.attempts), [("one", NotReady)]);
        assert_eq!(refused.error.kind, muster_core::Kind::Unavailable);
        assert_eq!(breaker(&chain, "one").state, BreakerState::Closed);
    });
}

#[test]
fn an_unknown_image_model_is_not_found_before_any_call() {
    test_world::run(|tree| async move {
        let chain = drawing_chain(&tree, &[Drawing(Ok(b"png"))]).await;
        let unknown = GatewayImageRequest { model: Some("other".to_owned()), ..request(1) };
        let refused = chain.draw(unknown).await.unwrap_err();
        assert_eq!(refused.error.kind, muster_core::Kind::ModelNotFound);
        assert!(refused.attempts.is_empty());
    });
}
