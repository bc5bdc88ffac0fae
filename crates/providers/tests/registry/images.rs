//! Image models: which providers draw with a name, and at which price.

use muster_providers::{CallPrice, ImageShapes, Usage};

use super::*;

fn named(id: &str, models: &[&str]) -> ProviderSettings {
    let known = Catalogue::embedded().unwrap();
    let settings = ProviderSettings {
        id: id.to_owned(),
        models: models.iter().map(|&model| model.to_owned()).collect(),
        has_key: true,
        ..ProviderSettings::default()
    };
    settings.with_defaults(&known)
}

fn registry_of(settings: &[ProviderSettings]) -> Registry {
    Registry::new(std::sync::Arc::new(Catalogue::embedded().unwrap()), settings, None).unwrap()
}

fn places(registry: &Registry, requested: Option<&str>) -> Vec<(String, String)> {
    let found = registry.resolve_image(requested).unwrap();
    found.into_iter().map(|candidate| (candidate.provider_id, candidate.model_id)).collect()
}

fn pair(provider: &str, model: &str) -> (String, String) {
    (provider.to_owned(), model.to_owned())
}

#[test]
fn without_a_model_every_configured_image_model_is_tried_in_the_order_of_the_catalogue() {
    let registry = registry_of(&[named("xai", &["grok-imagine-image"]), named("openai", &["gpt-5.6", "gpt-image-2"])]);
    let both = [pair("openai", "gpt-image-2"), pair("xai", "grok-imagine-image")];
    for any in [None, Some(""), Some("default"), Some("image")] {
        assert_eq!(places(&registry, any), both, "{any:?}");
    }
    assert_eq!(places(&registry, Some("grok-imagine-image")), [pair("xai", "grok-imagine-image")]);
    assert_eq!(places(&registry, Some("openai/gpt-image-2")), [pair("openai", "gpt-image-2")]);
}

#[test]
fn an_image_model_is_no_chat_model_and_a_chat_model_draws_nothing() {
    let registry = registry_of(&[named("openai", &["gpt-image-2", "gpt-5.6"])]);
    let chats = registry.resolve(None).unwrap();
    assert!(chats.iter().all(|candidate| candidate.model_id != "gpt-image-2"));
    assert!(registry.resolve_image(Some("gpt-5.6")).is_err());
}

#[test]
fn a_known_model_without_its_provider_names_the_setting() {
    let registry = registry_of(&[]);
    let error = registry.resolve_image(Some("gpt-image-2")).unwrap_err();
    assert!(matches!(&error, ResolveError::Unconfigured { provider, .. } if provider == "openai"), "{error}");
    assert!(matches!(registry.resolve_image(None), Err(ResolveError::Unconfigured { .. })));
    assert!(matches!(registry.resolve_image(Some("nothing")), Err(ResolveError::NotFound { .. })));
}

/// The prices are those of design/media.md, section 3.
#[test]
fn prices_and_shapes_are_those_of_the_catalogue() {
    let registry = registry_of(&[named("openai", &["*"]), named("google", &["*"]), named("xai", &["*"])]);
    let used = Usage { prompt_tokens: 1_000_000, completion_tokens: 1_000_000, estimated: false };
    for (model, nanos) in [
        ("gpt-image-2", 35_000_000_000),
        ("gpt-image-2.5-flare", 35_000_000_000),
        ("gemini-3.1-flash-image", 90_000_000),
        ("gemini-3.1-flash-lite-image", 67_200_000),
        ("gemini-3-pro-image", 268_000_000),
        ("grok-imagine-image", 40_000_000),
        ("grok-imagine-image-2.0", 120_000_000),
    ] {
        let candidate = registry.resolve_image(Some(model)).unwrap().remove(0);
        let Some(CallPrice::Images(price)) = candidate.call_price() else { panic!("{model} has no price") };
        assert_eq!(price.nanos(used, 2), nanos, "{model}");
        let free = matches!(candidate.image.unwrap().shapes, ImageShapes::Free);
        assert_eq!(free, model.starts_with("gpt-"), "{model}");
    }
}
