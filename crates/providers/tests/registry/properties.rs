//! Properties of any settings.

use proptest::prelude::*;

use super::*;

fn settings() -> impl Strategy<Value = Vec<ProviderSettings>> {
    let names = ["gpt-5.6", "codestral", "openai/gpt-oss-120b", "x", "y", "*"];
    let ids = ["openai", "mistral", "groq", "corp", "ollama"];
    let one = (proptest::sample::subsequence(names.to_vec(), 1..4), any::<bool>(), any::<bool>());
    proptest::collection::vec(one, 0..=ids.len()).prop_map(move |all| {
        all.into_iter()
            .zip(ids)
            .map(|((models, needs_key, has_key), id)| ProviderSettings {
                api_key_env: needs_key.then(|| format!("{}_KEY", id.to_uppercase())),
                has_key,
                ..provider(id, &models)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// For any settings and model: no candidate twice or without a key, and the embedded model last.
    #[test]
    fn no_candidate_is_listed_twice_or_without_its_key(
        settings in settings(),
        model in prop_oneof![Just("default"), Just("fast"), Just("code"), Just("gpt-5.6"), Just("codestral"), Just("x"), Just("corp/x"), Just("z"), Just("openai/gpt-oss-120b"), Just("muster-core")],
    ) {
        let registry = registry(&settings);
        let Ok(candidates) = registry.resolve(Some(model)) else { return Ok(()) };
        let mut pairs: Vec<_> = candidates.iter().map(|c| (&c.provider_id, &c.upstream_model)).collect();
        pairs.sort();
        pairs.dedup();
        prop_assert_eq!(pairs.len(), candidates.len());
        for c in &candidates {
            if let Some(settings) = settings.iter().find(|s| s.id == c.provider_id) {
                prop_assert!(settings.api_key_env.is_none() || settings.has_key);
                prop_assert_ne!(&c.upstream_model, "*");
            }
        }
        // Only where no model is named, or one that stands for several.
        let ends_embedded = candidates.last().is_some_and(|c| c.provider_id == "embedded");
        prop_assert_eq!(ends_embedded, ["default", "fast", "code", "muster-core"].contains(&model));
        let named = candidates.iter().all(|c| c.is_same_model(&candidates[0]));
        prop_assert!(named || ["default", "fast", "code"].contains(&model), "{:?}", candidates);
    }

    /// For any list: no candidate twice, and only candidates of one of its names.
    #[test]
    fn lists_select_only_candidates_of_their_names(
        settings in settings(),
        models in proptest::collection::vec(
            prop_oneof![Just("fast"), Just("gpt-5.6"), Just("codestral"), Just("x"), Just("corp/x"), Just("muster-core")],
            2..5,
        ),
    ) {
        let registry = registry(&settings);
        let Ok(listed) = candidates_of_list(&registry, &models) else { return Ok(()) };
        let mut once = listed.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), listed.len());
        let alone: Vec<Vec<Candidate>> = models.iter().filter_map(|m| registry.resolve(Some(m)).ok()).collect();
        for candidate in &listed {
            let serves = alone.iter().flatten().any(|c| *candidate == format!("{}:{}", c.provider_id, c.upstream_model));
            prop_assert!(serves, "{}", candidate);
        }
        // The first name that a provider serves comes first, unless it is a family without a model of its own.
        if let Some(first) = models.iter().find(|m| registry.resolve(Some(m)).is_ok()) && *first != "fast" {
            prop_assert_eq!(&listed[0], &candidates_of(&registry, first)[0]);
        }
    }
}
