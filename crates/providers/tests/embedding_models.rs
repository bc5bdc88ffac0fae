//! Embedding models: the catalogue, and the resolution of names. A request never gets another model.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

use std::sync::Arc;

use muster_models::{EmbedModel, EmbedOptions, LocalEmbedder};
use muster_providers::{
    Catalogue, EMBEDDED_EMBEDDING, NamedBy, Price, ProviderSettings, Registry, ResolveError, Usage,
};
use proptest::prelude::*;

fn provider(id: &str, models: &[&str]) -> ProviderSettings {
    ProviderSettings {
        id: id.to_owned(),
        kind: "openai".to_owned(),
        base_url: Some("http://127.0.0.1:1/v1".to_owned()),
        models: models.iter().map(|m| (*m).to_owned()).collect(),
        ..ProviderSettings::default()
    }
}

fn keyed(id: &str, models: &[&str], env: &str) -> ProviderSettings {
    ProviderSettings { api_key_env: Some(env.to_owned()), ..provider(id, models) }
}

fn registry(settings: &[ProviderSettings]) -> Registry {
    Registry::new(Arc::new(Catalogue::embedded().unwrap()), settings, None).unwrap()
}

/// `provider:upstream` of each candidate.
fn candidates_of(registry: &Registry, model: &str) -> Vec<String> {
    let candidates = registry.resolve_embedding(Some(model)).unwrap();
    candidates.iter().map(|c| format!("{}:{}", c.provider_id, c.upstream_model)).collect()
}

/// Prices and bounds by hand: litellm 1.109.1's table; they match the pages of OpenAI, Mistral and Google.
#[test]
fn the_catalogue_has_the_common_embedding_models() {
    let catalogue = Catalogue::embedded().unwrap();
    let rows: Vec<_> =
        catalogue.embeddings().iter().map(|m| (m.id.as_str(), m.dimensions, m.max_tokens, m.price_in)).collect();
    assert_eq!(
        rows,
        [
            ("muster-embed", 384, 256, 0.0),
            ("text-embedding-3-small", 1536, 8191, 0.02),
            ("text-embedding-3-large", 3072, 8191, 0.13),
            ("mistral-embed", 1024, 8192, 0.1),
            ("gemini-embedding-001", 3072, 2048, 0.15),
        ]
    );
    let small = catalogue.embedding("text-embedding-3-small").unwrap();
    let used = Usage { prompt_tokens: 1000, completion_tokens: 0, estimated: false };
    // 1000 x 0.02 $/M = 0.00002 $.
    assert_eq!(Price::of_embedding(small).nanos(used), 20_000);
    // The embedded one is the one that this build runs.
    let info = LocalEmbedder::start(EmbedOptions::default()).info();
    let embedded = catalogue.embedding(EMBEDDED_EMBEDDING).unwrap();
    assert_eq!(
        (embedded.dimensions, embedded.max_tokens, &embedded.name),
        (info.dimensions, info.max_tokens, &info.name)
    );
}

#[test]
fn invalid_entries_are_rejected_with_the_reason() {
    let text = include_str!("../catalogue.toml");
    for (from, to, part) in [
        ("id = \"mistral-embed\"", "id = \"muster-core\"", "model \"muster-core\" twice"),
        ("price_in = 0.13", "price_in = -0.13", "price"),
        ("dimensions = 1024", "dimension = 1024", "dimension"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        let error = Catalogue::parse(&changed).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn only_the_embedded_model_serves_requests_without_a_name() {
    let everything = [provider("openai", &["*"]), provider("corp", &["muster-embed", "*"])];
    for settings in [&everything[..0], &everything] {
        let registry = registry(settings);
        for name in ["", " ", "default", "muster-embed", "embedded/muster-embed"] {
            assert_eq!(candidates_of(&registry, name), ["embedded:muster-embed"], "{name}");
        }
        assert_eq!(registry.resolve_embedding(None), registry.resolve_embedding(Some("default")));
    }
    let renamed = ProviderSettings { kind: "embedded".to_owned(), ..provider("here", &[]) };
    assert_eq!(candidates_of(&registry(&[renamed]), "default"), ["here:muster-embed"]);
}

#[test]
fn a_named_model_is_served_only_by_providers_that_have_it() {
    let registry = registry(&[
        provider("openai", &["gpt-5.6", "text-embedding-3-small"]),
        provider("mistral", &["codestral", "*"]),
        provider("corp", &["text-embedding-3-small", "nomic-embed-text"]),
    ]);
    let rows: [(&str, &[&str]); 6] = [
        ("text-embedding-3-small", &["openai:text-embedding-3-small", "corp:text-embedding-3-small"]),
        ("corp/text-embedding-3-small", &["corp:text-embedding-3-small"]),
        // Its own by the catalogue, taken by its star.
        ("mistral-embed", &["mistral:mistral-embed"]),
        ("nomic-embed-text", &["corp:nomic-embed-text"]),
        // No provider names it: those that accept any name get exactly this one.
        ("text-embedding-ada-002", &["mistral:text-embedding-ada-002"]),
        ("mistral/other-embed", &["mistral:other-embed"]),
    ];
    for (name, expected) in rows {
        assert_eq!(candidates_of(&registry, name), expected, "{name}");
    }
    let named_by = |name: &str| registry.resolve_embedding(Some(name)).unwrap()[0].named_by;
    assert_eq!(named_by("mistral-embed"), NamedBy::Settings);
    assert_eq!(named_by("text-embedding-ada-002"), NamedBy::Client);
    let candidates = registry.resolve_embedding(Some("text-embedding-3-small")).unwrap();
    assert_eq!(candidates[0].price.unwrap().input_per_million, 0.02);
    // A proxy's price is its own.
    assert_eq!(candidates[1].price, None);
}

#[test]
fn chat_models_and_embedding_models_are_not_interchangeable() {
    let registry = registry(&[provider("openai", &["text-embedding-3-small", "gpt-5.6"]), provider("corp", &["*"])]);
    for name in ["gpt-5.6", "muster-core", "muster-fast"] {
        let expected = ResolveError::NotFound { model: name.to_owned() };
        assert_eq!(registry.resolve_embedding(Some(name)), Err(expected), "{name}");
    }
    // The chain uses a provider's first chat model, wherever it is among its names.
    let chain = registry.resolve(None).unwrap();
    assert_eq!(chain[0].upstream_model, "gpt-5.6");
    assert!(registry.list().iter().all(|model| model.id != "text-embedding-3-small"));
}

#[test]
fn missing_settings_are_named() {
    let registry = registry(&[
        keyed("openai", &["gpt-5.6", "text-embedding-3-small"], "OPENAI_API_KEY"),
        provider("mistral", &["codestral"]),
    ]);
    for (name, provider, setting) in [
        ("text-embedding-3-small", "openai", "OPENAI_API_KEY"),
        ("openai/text-embedding-3-small", "openai", "OPENAI_API_KEY"),
        ("mistral-embed", "mistral", "models of [[provider]] id = \"mistral\""),
        ("gemini-embedding-001", "google", "[[provider]] id = \"google\""),
    ] {
        let (model, provider, setting) = (name.to_owned(), provider.to_owned(), setting.to_owned());
        let expected = ResolveError::Unconfigured { model, provider, setting };
        assert_eq!(registry.resolve_embedding(Some(name)), Err(expected), "{name}");
    }
    for name in ["no-such-model", "text-embedding-ada-002", "openai/", "/"] {
        assert_eq!(registry.resolve_embedding(Some(name)), Err(ResolveError::NotFound { model: name.to_owned() }));
    }
}

#[test]
fn the_list_names_the_provider_or_the_missing_setting() {
    let registry =
        registry(&[keyed("openai", &["text-embedding-3-small"], "OPENAI_API_KEY"), provider("mistral", &["*"])]);
    let rows: Vec<_> =
        registry.list_embeddings().into_iter().map(|m| (m.entry.id, m.provider, m.configured, m.setting)).collect();
    let row = |id: &str, provider: &str, setting: Option<&str>| {
        (id.to_owned(), provider.to_owned(), setting.is_none(), setting.map(str::to_owned))
    };
    assert_eq!(
        rows,
        [
            row("muster-embed", "embedded", None),
            row("text-embedding-3-small", "openai", Some("OPENAI_API_KEY")),
            row("text-embedding-3-large", "openai", Some("OPENAI_API_KEY")),
            row("mistral-embed", "mistral", None),
            row("gemini-embedding-001", "google", Some("[[provider]] id = \"google\"")),
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Property: every candidate is the requested model, under its one upstream name.
    #[test]
    fn no_candidate_has_another_model(
        lists in proptest::collection::vec(proptest::sample::subsequence(
            vec!["gpt-5.6", "text-embedding-3-small", "mistral-embed", "own-embed", "*"], 1..5), 0..4),
        name in prop_oneof![Just("text-embedding-3-small"), Just("mistral-embed"), Just("own-embed"), Just("muster-embed"), Just("x")],
    ) {
        let settings: Vec<_> = lists.iter().zip(["openai", "mistral", "corp"]).map(|(models, id)| provider(id, models)).collect();
        if let Ok(candidates) = registry(&settings).resolve_embedding(Some(name)) {
            prop_assert!(!candidates.is_empty());
            prop_assert!(candidates.iter().all(|c| c.upstream_model == name), "{candidates:?}");
        }
    }
}
