//! The catalogue that is built in, and the arithmetic of prices.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

use std::collections::BTreeSet;

use muster_models::ModelInfo;
use muster_providers::{
    Catalogue, CatalogueError, EMBEDDED_MODEL, EMBEDDED_PROVIDER, ProviderKind, Usage, cost_nanos, cost_usd,
};
use proptest::prelude::*;

fn catalogue() -> Catalogue {
    Catalogue::embedded().unwrap()
}

fn usage(prompt_tokens: u32, completion_tokens: u32) -> Usage {
    Usage { prompt_tokens, completion_tokens, estimated: false }
}

#[test]
fn it_has_what_the_contract_counts() {
    let catalogue = catalogue();
    assert_eq!(catalogue.models().len(), 23);
    assert_eq!(catalogue.providers().len(), 13);
    let families: Vec<_> = catalogue.families().iter().map(|f| f.id.as_str()).collect();
    assert_eq!(families, ["fast", "reasoning", "vision", "code"]);
}

#[test]
fn every_reference_resolves_and_every_word_is_known() {
    let catalogue = catalogue();
    let known = BTreeSet::from(["chat", "vision", "code", "analysis", "tools", "json"]);
    for model in catalogue.models() {
        let words: BTreeSet<_> = model.capabilities.iter().map(String::as_str).collect();
        assert!(words.is_subset(&known), "{}: {words:?}", model.id);
        assert!(words.contains("chat"), "{}", model.id);
        assert_eq!(words.contains("tools"), model.tools, "{}", model.id);
        assert!(catalogue.provider(&model.provider).is_some(), "{}", model.id);
    }
    for family in catalogue.families() {
        assert_eq!(family.model_id, format!("muster-{}", family.id));
        assert_eq!(family.order.last().map(String::as_str), Some(EMBEDDED_MODEL));
        for id in family.order.iter().filter(|id| *id != EMBEDDED_MODEL) {
            let model = catalogue.model(id).unwrap();
            assert!(model.families.contains(&family.id), "{id} in {}", family.id);
        }
    }
}

#[test]
fn every_provider_speaks_a_wire_that_the_server_has() {
    for provider in catalogue().providers() {
        assert!(ProviderKind::parse(&provider.wire).is_some(), "{}: {}", provider.id, provider.wire);
    }
}

#[test]
fn every_provider_with_an_adapter_has_a_base_url() {
    for provider in catalogue().providers() {
        let embedded = provider.id == EMBEDDED_PROVIDER;
        assert_eq!(provider.base_url.is_none(), embedded, "{}", provider.id);
        assert_eq!(provider.wire == "embedded", embedded, "{}", provider.id);
    }
}

#[test]
fn the_embedded_model_has_an_entry() {
    let info = ModelInfo { id: "standard".to_owned(), name: "A model".to_owned(), context: 4096, max_tokens: 2048 };
    let before = catalogue();
    assert_eq!(before.model(EMBEDDED_MODEL).unwrap().context_window, None);
    let after = before.clone().with_embedded_model(&info);
    let model = after.model(EMBEDDED_MODEL).unwrap();
    assert_eq!((model.context_window, model.max_tokens), (Some(4096), Some(2048)));
    assert_eq!(model.capabilities, ["chat", "json", "tools"]);
    assert_eq!(cost_nanos(model, usage(u32::MAX, u32::MAX)), 0);
    for (b, a) in before.models().iter().zip(after.models()) {
        assert!(b == a || b.id == EMBEDDED_MODEL, "{}", b.id);
    }
}

/// By hand: tokens times dollars per million tokens.
#[test]
fn costs_are_exact() {
    let catalogue = catalogue();
    for (id, used, nanos, usd) in [
        // 1000 x 0.2 $/M + 500 x 1.2 $/M = 0.0002 $ + 0.0006 $
        ("gpt-5.6-luna", usage(1000, 500), 800_000, 0.0008),
        // 1 x 0.039 $/M + 1 x 0.18 $/M
        ("openrouter-gpt-oss-120b", usage(1, 1), 219, 0.000_000_219),
        // 3 x 0.075 $/M + 7 x 0.3 $/M
        ("groq-gpt-oss-20b", usage(3, 7), 2325, 0.000_002_325),
        // A million of each: the prices themselves.
        ("mistral-large-4", usage(1_000_000, 1_000_000), 5_540_000_000, 5.54),
        ("gpt-5.6", usage(0, 0), 0, 0.0),
    ] {
        let entry = catalogue.model(id).unwrap();
        assert_eq!(cost_nanos(entry, used), nanos, "{id}");
        assert_eq!(cost_usd(entry, used), usd, "{id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The catalogue's prices are whole billionths of a dollar a token, so splitting a call changes nothing.
    #[test]
    fn costs_add_up(model in 0usize..23, a in 0u32..1_000_000_000, b in 0u32..1_000_000_000, c in 0u32..1_000_000_000, d in 0u32..1_000_000_000) {
        let catalogue = catalogue();
        let entry = &catalogue.models()[model];
        let parts = cost_nanos(entry, usage(a, b)) + cost_nanos(entry, usage(c, d));
        prop_assert_eq!(cost_nanos(entry, usage(a + c, b + d)), parts);
    }
}

const SMALL: &str = r#"
[[provider]]
id = "p"
name = "P"
wire = "openai"
[[model]]
id = "m"
name = "M"
provider = "p"
capabilities = ["chat"]
families = ["fast"]
price_in = 0.5
price_out = 1.0
price_source = "here"
tools = false
sampling_params = true
[[family]]
id = "fast"
model_id = "muster-fast"
name = "Fast"
order = ["m"]
"#;

#[test]
fn a_bad_catalogue_is_refused_with_the_reason() {
    assert!(Catalogue::parse(SMALL).is_ok());
    let model = &SMALL[SMALL.find("[[model]]").unwrap()..SMALL.find("[[family]]").unwrap()];
    for (text, part) in [
        (format!("{SMALL}{model}"), "model \"m\" twice"),
        (SMALL.replace("\"muster-fast\"", "\"m\""), "model \"m\" twice"),
        (SMALL.replace("order = [\"m\"]", "order = [\"x\"]"), "\"x\""),
        (SMALL.replace("provider = \"p\"", "provider = \"q\""), "\"q\""),
        (SMALL.replace("families = [\"fast\"]", "families = [\"slow\"]"), "\"slow\""),
        (SMALL.replace("price_in = 0.5", "price_in = -1.0"), "price"),
        (SMALL.replace("price_in = 0.5", "price_in = 0.0000001"), "price"),
        (SMALL.replace("price_in = 0.5", "price_in = nan"), "price"),
        (SMALL.replace("tools = false", "tools = false\ncolour = 1"), "colour"),
    ] {
        let error: CatalogueError = Catalogue::parse(&text).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let small = Catalogue::parse(SMALL).unwrap();
    assert_eq!(small.models()[0].upstream, None);
}
