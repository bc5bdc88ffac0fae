//! Candidates of a model and their order, and errors if there is none.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod images;
mod properties;
mod routing;

use std::sync::Arc;

use muster_providers::{
    Candidate, Catalogue, Fault, FaultClass, NamedBy, Phase, Price, ProviderSettings, Registry, RegistryError,
    ResolveError,
};

fn provider(id: &str, models: &[&str]) -> ProviderSettings {
    ProviderSettings {
        id: id.to_owned(),
        kind: "openai".to_owned(),
        base_url: Some("http://127.0.0.1:1/v1".to_owned()),
        api_key_env: None,
        has_key: false,
        price: None,
        models: models.iter().map(|m| (*m).to_owned()).collect(),
    }
}

fn keyed(id: &str, models: &[&str], env: &str) -> ProviderSettings {
    ProviderSettings { api_key_env: Some(env.to_owned()), ..provider(id, models) }
}

fn try_registry(settings: &[ProviderSettings], order: Option<&[&str]>) -> Result<Registry, RegistryError> {
    let order = order.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
    Registry::new(Arc::new(Catalogue::embedded().unwrap()), settings, order)
}

fn registry(settings: &[ProviderSettings]) -> Registry {
    try_registry(settings, None).unwrap()
}

/// The same with the order of the settings as the configured one, the embedded model last.
fn ordered(settings: &[ProviderSettings]) -> Registry {
    let is_embedded = |one: &&ProviderSettings| one.kind == "embedded";
    let embedded = settings.iter().find(is_embedded).map_or("embedded", |one| &one.id);
    let ids = settings.iter().filter(|one| !is_embedded(one)).map(|one| one.id.as_str());
    let order: Vec<&str> = ids.chain([embedded]).collect();
    try_registry(settings, Some(&order)).unwrap()
}

/// `provider:upstream` of each candidate.
fn candidates_of(registry: &Registry, model: &str) -> Vec<String> {
    let candidates = registry.resolve(Some(model)).unwrap();
    candidates.iter().map(|c| format!("{}:{}", c.provider_id, c.upstream_model)).collect()
}

fn first(registry: &Registry, model: &str) -> Candidate {
    registry.resolve(Some(model)).unwrap().remove(0)
}

#[test]
fn with_nothing_configured_the_embedded_model_serves() {
    let registry = registry(&[]);
    for model in
        ["default", "", " ", "fast", "muster-code", "vision", "reasoning", "muster-core", "embedded/muster-core"]
    {
        assert_eq!(candidates_of(&registry, model), ["embedded:muster-core"], "{model}");
    }
    assert_eq!(registry.resolve(None).unwrap(), registry.resolve(Some("default")).unwrap());
    let core = first(&registry, "muster-core");
    assert_eq!(core.model_id, "muster-core");
    assert_eq!(core.price.unwrap().input_per_million, 0.0);
    assert!(core.takes_sampling);
}

#[test]
fn named_providers_come_first_then_the_rest_of_the_chain() {
    let registry = ordered(&[
        provider("openai", &["gpt-5.6-luna", "gpt-4o-mini"]),
        provider("groq", &["openai/gpt-oss-120b"]),
        provider("corp", &["own-model", "gpt-4o-mini"]),
    ]);
    let rows: [(&str, &[&str]); 7] = [
        ("default", &["openai:gpt-5.6-luna", "groq:openai/gpt-oss-120b", "corp:own-model", "embedded:muster-core"]),
        ("own-model", &["corp:own-model", "openai:gpt-5.6-luna", "groq:openai/gpt-oss-120b", "embedded:muster-core"]),
        // Two name it: both, in chain order, before anything else.
        (
            "gpt-4o-mini",
            &[
                "openai:gpt-4o-mini",
                "corp:gpt-4o-mini",
                "openai:gpt-5.6-luna",
                "groq:openai/gpt-oss-120b",
                "corp:own-model",
                "embedded:muster-core",
            ],
        ),
        ("corp/gpt-4o-mini", &["corp:gpt-4o-mini"]),
        // By our id, and by the provider's own name with a slash in it.
        (
            "groq-gpt-oss-120b",
            &["groq:openai/gpt-oss-120b", "openai:gpt-5.6-luna", "corp:own-model", "embedded:muster-core"],
        ),
        (
            "openai/gpt-oss-120b",
            &["groq:openai/gpt-oss-120b", "openai:gpt-5.6-luna", "corp:own-model", "embedded:muster-core"],
        ),
        ("muster-core", &["embedded:muster-core"]),
    ];
    for (model, expected) in rows {
        assert_eq!(candidates_of(&registry, model), expected, "{model}");
    }
    let groq = first(&registry, "openai/gpt-oss-120b");
    assert_eq!(groq.model_id, "groq-gpt-oss-120b");
    assert_eq!(groq.price.unwrap().output_per_million, 0.6);
    let own = first(&registry, "own-model");
    assert_eq!((own.model_id.as_str(), own.entry, own.price), ("own-model", None, None));
}

#[test]
fn the_order_of_the_chain_is_that_of_the_settings() {
    let settings = [provider("a", &["m"]), provider("b", &["m", "n"]), provider("c", &["m"])];
    let registry = try_registry(&settings, Some(&["embedded", "b", "a"])).unwrap();
    assert_eq!(registry.chain().collect::<Vec<_>>(), ["embedded", "b", "a"]);
    assert_eq!(candidates_of(&registry, "default"), ["embedded:muster-core", "b:m", "a:m"]);
    // A provider outside of the chain still serves models that it names, last.
    assert_eq!(candidates_of(&registry, "m"), ["b:m", "a:m", "c:m", "embedded:muster-core"]);
    // Left out of the order, the embedded model is no fallback; by name it is there.
    let registry = try_registry(&settings, Some(&["a"])).unwrap();
    assert_eq!(candidates_of(&registry, "m"), ["a:m", "b:m", "c:m"]);
    assert_eq!(candidates_of(&registry, "muster-core"), ["embedded:muster-core"]);
}

#[test]
fn the_embedded_model_goes_last_by_default_and_nowhere_but_itself() {
    let embedded = ProviderSettings { kind: "embedded".into(), ..provider("local", &[]) };
    let registry = ordered(&[embedded, provider("peer", &["muster-core"])]);
    assert_eq!(registry.chain().collect::<Vec<_>>(), ["peer", "local"]);
    assert_eq!(candidates_of(&registry, "muster-core"), ["local:muster-core"]);
    assert_eq!(candidates_of(&registry, "peer/muster-core"), ["peer:muster-core"]);
}

#[test]
fn wildcard_providers_come_after_those_that_name_the_model() {
    let registry = ordered(&[provider("any", &["*"]), provider("openai", &["gpt-5.6"]), provider("some", &["s", "*"])]);
    let rows: [(&str, &[&str]); 5] = [
        ("gpt-5.6", &["openai:gpt-5.6", "any:gpt-5.6", "some:s", "embedded:muster-core"]),
        ("x", &["any:x", "some:x", "openai:gpt-5.6", "some:s", "embedded:muster-core"]),
        ("some/x", &["some:x"]),
        // A name of the catalogue whose own provider is not there.
        (
            "claude-opus-5-5",
            &["any:claude-opus-5-5", "some:claude-opus-5-5", "openai:gpt-5.6", "some:s", "embedded:muster-core"],
        ),
        // Without a name there is no model to request from the first one.
        ("default", &["openai:gpt-5.6", "some:s", "embedded:muster-core"]),
    ];
    for (model, expected) in rows {
        assert_eq!(candidates_of(&registry, model), expected, "{model}");
    }
    // Of its own models a star serves those of the catalogue under either name.
    let registry = ordered(&[provider("mistral", &["*"])]);
    assert_eq!(candidates_of(&registry, "codestral"), ["mistral:codestral-latest", "embedded:muster-core"]);
    assert_eq!(first(&registry, "codestral-latest").named_by, NamedBy::Settings);
}

/// `provider:upstream` of each candidate of a list.
fn candidates_of_list(registry: &Registry, models: &[&str]) -> Result<Vec<String>, ResolveError> {
    let models: Vec<String> = models.iter().map(|&model| model.to_owned()).collect();
    let candidates = registry.resolve_list(&models)?;
    Ok(candidates.iter().map(|c| format!("{}:{}", c.provider_id, c.upstream_model)).collect())
}

#[test]
fn a_list_of_models_restricts_the_candidates_and_a_single_model_does_not() {
    let registry = registry(&[
        provider("openai", &["gpt-5.6-luna", "gpt-4o-mini"]),
        provider("mistral", &["codestral"]),
        provider("corp", &["own-model", "gpt-4o-mini"]),
        provider("any", &["*"]),
    ]);
    let rows: [(&[&str], &[&str]); 8] = [
        // The providers of the first, then those of the second, and no other.
        (&["gpt-4o-mini", "own-model"], &["openai:gpt-4o-mini", "corp:gpt-4o-mini", "corp:own-model"]),
        (&["own-model", "gpt-4o-mini"], &["corp:own-model", "openai:gpt-4o-mini", "corp:gpt-4o-mini"]),
        // Each once, at its first place.
        (&["corp/gpt-4o-mini", "gpt-4o-mini"], &["corp:gpt-4o-mini", "openai:gpt-4o-mini"]),
        (&["own-model", "own-model"], &["corp:own-model"]),
        // The embedded model only if it is named, or represents a family: then last.
        (&["own-model", "muster-core"], &["corp:own-model", "embedded:muster-core"]),
        (&["code", "own-model"], &["mistral:codestral-latest", "corp:own-model", "embedded:muster-core"]),
        // The chain itself has its own end.
        (
            &["own-model", "default"],
            &["corp:own-model", "openai:gpt-5.6-luna", "mistral:codestral-latest", "embedded:muster-core"],
        ),
        // A wildcard serves models that no provider names.
        (&["made-up", "own-model"], &["any:made-up", "corp:own-model"]),
    ];
    for (models, expected) in rows {
        assert_eq!(candidates_of_list(&registry, models).unwrap(), expected, "{models:?}");
    }
    assert_eq!(candidates_of_list(&registry, &["own-model"]).unwrap(), candidates_of(&registry, "own-model"));
    assert_eq!(candidates_of_list(&registry, &[]).unwrap(), candidates_of(&registry, "default"));
}

#[test]
fn lists_reject_unknown_names_and_skip_unconfigured_models() {
    let registry = registry(&[keyed("openai", &["gpt-5.6"], "OPENAI_API_KEY"), provider("corp", &["own"])]);
    let unknown = |model: &str| Err(ResolveError::NotFound { model: model.to_owned() });
    assert_eq!(candidates_of_list(&registry, &["own", "onw"]), unknown("onw"));
    assert_eq!(candidates_of_list(&registry, &["gpt-5.6", "onw", "own"]), unknown("onw"));
    assert_eq!(candidates_of_list(&registry, &["gpt-5.6", "own"]).unwrap(), ["corp:own"]);
    // If none is configured, the error names the settings of the first.
    let lacking = candidates_of_list(&registry, &["gpt-5.6", "claude-opus-5-5"]).unwrap_err();
    assert!(lacking.to_string().ends_with("set OPENAI_API_KEY"), "{lacking}");
    let lacking = candidates_of_list(&registry, &["claude-opus-5-5", "gpt-5.6"]).unwrap_err();
    assert!(matches!(&lacking, ResolveError::Unconfigured { model, .. } if model == "claude-opus-5-5"), "{lacking}");
    // Two families that nothing is configured for have the embedded model, once.
    assert_eq!(candidates_of_list(&registry, &["fast", "vision"]).unwrap(), ["embedded:muster-core"]);
}

#[test]
fn unknown_names_of_a_client_are_no_provider_fault() {
    let registry = ordered(&[provider("any", &["*"]), provider("some", &["s"])]);
    let mut fault = Fault::new(FaultClass::Hard, Phase::Headers, "no such model");
    fault.status = Some(404);
    let candidates = registry.resolve(Some("made-up")).unwrap();
    let excused: Vec<bool> = candidates.iter().map(|c| c.is_unknown_client_model(&fault)).collect();
    assert_eq!(excused, [true, false, false]);
    fault.status = Some(401);
    assert!(!candidates[0].is_unknown_client_model(&fault));
}

#[test]
fn a_family_has_its_own_chain() {
    let registry = registry(&[
        provider("deepseek", &["*"]),
        provider("mistral", &["codestral"]),
        provider("corp", &["own"]),
        provider("ollama", &["qwen3"]),
    ]);
    assert_eq!(
        candidates_of(&registry, "muster-code"),
        [
            "mistral:codestral-latest",
            "deepseek:deepseek-v4-flash",
            "deepseek:deepseek-v4-pro",
            "ollama:qwen3",
            "embedded:muster-core"
        ]
    );
    assert_eq!(candidates_of(&registry, "code"), candidates_of(&registry, "muster-code"));
    assert_eq!(candidates_of(&registry, "reasoning"), ["deepseek:deepseek-v4-pro", "embedded:muster-core"]);
}

#[test]
fn a_configured_model_replaces_the_first_name() {
    let registry = registry(&[provider("ollama", &["qwen3", "llama3"])]);
    assert_eq!(candidates_of(&registry, "ollama-local")[0], "ollama:qwen3");
    let second = first(&registry, "llama3");
    assert_eq!((second.upstream_model.as_str(), second.model_id.as_str()), ("llama3", "llama3"));
    assert_eq!(second.price.unwrap().input_per_million, 0.0);
    // A wildcard alone is not a choice of a model.
    let registry = self::registry(&[provider("ollama", &["*"])]);
    assert_eq!(first(&registry, "ollama-local").named_by, NamedBy::Client);
}

#[test]
fn sampling_follows_the_catalogue_and_the_reasoning_families() {
    let registry = registry(&[provider("corp", &["claude-opus-5-5", "o3-mini", "gpt-5.6", "own"])]);
    for (model, expected) in [("claude-opus-5-5", false), ("o3-mini", false), ("gpt-5.6", true), ("own", true)] {
        assert_eq!(first(&registry, model).takes_sampling, expected, "{model}");
    }
    // Not the price, though: a proxy's is its own.
    assert_eq!(first(&registry, "gpt-5.6").price, None);
    let price = Price { input_per_million: 1.0, output_per_million: 2.0 };
    let reported = |id| ProviderSettings { price: Some(price), ..provider(id, &["gpt-5.6"]) };
    for id in ["corp", "openai"] {
        assert_eq!(
            first(&self::registry(&[reported(id)]), "gpt-5.6").price,
            Some(price),
            "what the settings say: {id}"
        );
    }
}

#[test]
fn missing_settings_are_named() {
    let registry = registry(&[
        keyed("openai", &["gpt-5.6", "mine"], "OPENAI_API_KEY"),
        provider("mistral", &["codestral"]),
        keyed("router", &["*"], "ROUTER_API_KEY"),
    ]);
    assert_eq!(candidates_of(&registry, "default"), ["mistral:codestral-latest", "embedded:muster-core"]);
    for (model, provider, setting) in [
        ("gpt-5.6", "openai", "OPENAI_API_KEY"),
        ("gpt-5.6-luna", "openai", "OPENAI_API_KEY"),
        ("mine", "openai", "OPENAI_API_KEY"),
        ("openai/mine", "openai", "OPENAI_API_KEY"),
        ("claude-opus-5-5", "anthropic", "[[provider]] id = \"anthropic\""),
        ("anthropic/claude-opus-5-5", "anthropic", "[[provider]] id = \"anthropic\""),
        ("mistral-large-4", "mistral", "models of [[provider]] id = \"mistral\""),
        ("router/some-model", "router", "ROUTER_API_KEY"),
    ] {
        let expected = ResolveError::Unconfigured {
            model: model.to_owned(),
            provider: provider.to_owned(),
            setting: setting.to_owned(),
        };
        assert_eq!(registry.resolve(Some(model)), Err(expected.clone()), "{model}");
        assert!(expected.to_string().contains(setting));
    }
    // A provider that accepts any name may have it: the key is what is missing.
    let of_any = registry.resolve(Some("some-model")).unwrap_err();
    assert!(of_any.to_string().ends_with("set ROUTER_API_KEY"), "{of_any}");
    assert_eq!(
        registry.missing_keys().collect::<Vec<_>>(),
        [("openai", "OPENAI_API_KEY"), ("router", "ROUTER_API_KEY")]
    );
    assert_eq!(registry.missing_key("mistral"), None);
    let registry =
        self::registry(&[keyed("openai", &["gpt-5.6", "mine"], "OPENAI_API_KEY"), provider("mistral", &["codestral"])]);
    for model in ["no-such-model", "openai/no-such-model", "/", "openai/"] {
        let expected = ResolveError::NotFound { model: model.to_owned() };
        assert_eq!(registry.resolve(Some(model)), Err(expected), "{model}");
    }
    // With its key it serves.
    let with_key = ProviderSettings { has_key: true, ..keyed("openai", &["gpt-5.6"], "OPENAI_API_KEY") };
    assert_eq!(candidates_of(&self::registry(&[with_key]), "gpt-5.6")[0], "openai:gpt-5.6");
}

#[test]
fn an_unserved_chain_names_the_missing_setting() {
    let settings = [keyed("openai", &["gpt-5.6"], "OPENAI_API_KEY")];
    let registry = try_registry(&settings, Some(&["openai"])).unwrap();
    for model in [None, Some("fast")] {
        let error = registry.resolve(model).unwrap_err();
        assert!(error.to_string().ends_with("set OPENAI_API_KEY"), "{error}");
    }
}

#[test]
fn the_list_has_the_catalogue_and_the_settings_each_once() {
    let registry = registry(&[
        keyed("openai", &["gpt-5.6", "mine"], "OPENAI_API_KEY"),
        provider("mistral", &["codestral-latest", "*"]),
        provider("corp", &["own", "mine"]),
    ]);
    let list = registry.list();
    let ids: std::collections::HashSet<_> = list.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids.len(), list.len());
    let catalogue = Catalogue::embedded().unwrap();
    let head: Vec<_> = list.iter().take(23).map(|m| m.id.as_str()).collect();
    let models: Vec<_> = catalogue.models().iter().map(|m| m.id.as_str()).collect();
    assert_eq!(head, models);
    let added: Vec<_> = list[23..].iter().map(|m| (m.id.as_str(), m.provider.as_str())).collect();
    // The one without its key names it first; the other one has it.
    assert_eq!(added, [("mine", "corp"), ("own", "corp")]);
    let configured: Vec<_> = list.iter().filter(|m| m.configured).map(|m| m.id.as_str()).collect();
    assert_eq!(configured, ["muster-core", "mistral-large-4", "mistral-small", "codestral", "mine", "own"]);
    for model in &list {
        assert_eq!(model.configured, model.setting.is_none(), "{}", model.id);
        assert_eq!(
            model.configured,
            registry.resolve(Some(&model.id)).is_ok_and(|c| c[0].named_by == NamedBy::Settings),
            "{}",
            model.id
        );
    }
}

#[test]
fn invalid_settings_are_rejected_with_the_remedy() {
    let with = |change: fn(&mut ProviderSettings)| {
        let mut settings = provider("p", &["m"]);
        change(&mut settings);
        vec![settings]
    };
    let bedrock = || with(|p| p.kind = "bedrock".into());
    type Row<'a> = (Vec<ProviderSettings>, Option<&'a [&'a str]>, &'a str);
    let rows: [Row<'_>; 12] = [
        (with(|p| p.id.clear()), None, "has no id"),
        (vec![provider("p", &["m"]), provider("p", &["n"])], None, "\"p\" occurs twice"),
        (bedrock(), None, "kind \"bedrock\" is unknown"),
        (bedrock(), None, "accepted: openai (any server that speaks its API), anthropic, gemini"),
        (with(|p| p.models.clear()), None, "names no models"),
        (with(|p| p.models = vec![" ".into()]), None, "names no models"),
        (with(|p| p.base_url = None), None, "has no base_url"),
        (with(|p| p.id = "embedded".into()), None, "choose another"),
        (
            ["e1", "e2"].map(|id| ProviderSettings { kind: "embedded".into(), ..provider(id, &[]) }).into(),
            None,
            "\"e1\" already is",
        ),
        (with(|_| {}), Some(&["p", "q"]), "\"q\", which is not a configured [[provider]]; accepted: p, embedded"),
        (with(|_| {}), Some(&["p", "p"]), "\"p\" twice"),
        (with(|_| {}), Some(&[]), "order is empty"),
    ];
    for (settings, order, part) in rows {
        let error = try_registry(&settings, order).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// The same rules whatever the wire.
#[test]
fn every_kind_over_http_is_served_and_checked_alike() {
    for kind in ["openai", "anthropic", "gemini"] {
        let settings = ProviderSettings { kind: kind.into(), ..keyed("p", &["m"], "P_KEY") };
        let with_key = ProviderSettings { has_key: true, ..settings.clone() };
        assert_eq!(candidates_of(&registry(&[with_key]), "m"), ["p:m"], "{kind}");
        let missing = registry(std::slice::from_ref(&settings)).resolve(Some("m")).unwrap_err();
        assert!(missing.to_string().contains("P_KEY"), "{kind}: {missing}");
        for (broken, part) in [
            (ProviderSettings { base_url: None, ..settings.clone() }, "has no base_url"),
            (ProviderSettings { models: Vec::new(), ..settings.clone() }, "names no models"),
            (ProviderSettings { id: "embedded".into(), ..settings.clone() }, "choose another"),
        ] {
            let error = try_registry(&[broken], None).unwrap_err().to_string();
            assert!(error.contains(part), "{kind}: {error}");
        }
    }
}

#[test]
fn the_catalogue_fills_in_what_is_left_out() {
    let catalogue = Catalogue::embedded().unwrap();
    let bare = ProviderSettings { id: "groq".into(), models: vec!["*".into()], ..ProviderSettings::default() };
    let full = bare.with_defaults(&catalogue);
    assert_eq!(full.kind, "openai");
    assert_eq!(full.base_url.as_deref(), Some("https://api.groq.com/openai/v1"));
    assert_eq!(full.api_key_env.as_deref(), Some("GROQ_API_KEY"));
    for (id, wire, base_url) in [
        ("anthropic", "anthropic", "https://api.anthropic.com/v1"),
        ("google", "gemini", "https://generativelanguage.googleapis.com/v1beta"),
    ] {
        let bare = ProviderSettings { id: id.into(), ..ProviderSettings::default() };
        let full = bare.with_defaults(&catalogue);
        assert_eq!((full.kind.as_str(), full.base_url.as_deref()), (wire, Some(base_url)));
    }
    let own = provider("groq", &["m"]);
    let kept = own.clone().with_defaults(&catalogue);
    assert_eq!(kept.base_url, own.base_url);
}
