//! Which other models may answer in the place of a named one.

use muster_providers::RoutingSettings;

use super::*;

#[test]
fn a_named_model_has_no_other_behind_it_unless_the_operator_wrote_a_chain() {
    let settings = [provider("openai", &["gpt-5.6"]), provider("corp", &["own", "gpt-5.6"]), provider("any", &["*"])];
    let (default, ordered) = (registry(&settings), ordered(&settings));
    for (model, alone, chained) in [
        ("own", vec!["corp:own"], vec!["corp:own", "openai:gpt-5.6", "any:own", "embedded:muster-core"]),
        // Other providers of the same model.
        (
            "gpt-5.6",
            vec!["openai:gpt-5.6", "corp:gpt-5.6"],
            vec!["openai:gpt-5.6", "corp:gpt-5.6", "corp:own", "any:gpt-5.6", "embedded:muster-core"],
        ),
        ("made-up", vec!["any:made-up"], vec!["any:made-up", "openai:gpt-5.6", "corp:own", "embedded:muster-core"]),
        // Pinned.
        ("corp/gpt-5.6", vec!["corp:gpt-5.6"], vec!["corp:gpt-5.6"]),
        ("any/gpt-5.6", vec!["any:gpt-5.6"], vec!["any:gpt-5.6"]),
        ("muster-core", vec!["embedded:muster-core"], vec!["embedded:muster-core"]),
    ] {
        assert_eq!(candidates_of(&default, model), alone, "{model}");
        assert_eq!(candidates_of(&ordered, model), chained, "{model}");
    }
    let in_place = |registry: &Registry| -> Vec<bool> {
        registry.resolve(Some("own")).unwrap().iter().map(|candidate| candidate.stands_in).collect()
    };
    assert_eq!(in_place(&ordered), [false, true, false, true]);
    // Without a model the chain answers, in either case.
    assert_eq!(candidates_of(&default, "default"), ["openai:gpt-5.6", "corp:own", "embedded:muster-core"]);
    assert_eq!(candidates_of(&ordered, "default"), candidates_of(&default, "default"));
}

fn routing(aliases: &[(&str, &[&str])], fallbacks: &[(&str, &[&str])], equivalents: &[&[&str]]) -> RoutingSettings {
    let names = |names: &&[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let table = |table: &[(&str, &[&str])]| table.iter().map(|(name, of)| ((*name).to_owned(), names(of))).collect();
    RoutingSettings {
        aliases: table(aliases),
        fallbacks: table(fallbacks),
        equivalents: equivalents.iter().map(names).collect(),
    }
}

#[test]
fn aliases_fallbacks_and_equivalent_models_are_the_only_ones_in_a_models_place() {
    let settings = [
        provider("openai", &["gpt-5.6", "gpt-5.6-luna"]),
        provider("groq", &["openai/gpt-oss-120b"]),
        provider("corp", &["oss", "own"]),
        keyed("anthropic", &["claude-opus-5-5"], "ANTHROPIC_API_KEY"),
    ];
    let routing = routing(
        &[("gpt-4", &["gpt-5.6"]), ("smart", &["claude-opus-5-5", "own", "fast"]), ("mine", &["corp/own"])],
        &[("gpt-5.6", &["own", "muster-core"]), ("mine", &["gpt-5.6-luna"]), ("claude-opus-5-5", &["gpt-5.6"])],
        &[&["groq-gpt-oss-120b", "corp/oss"]],
    );
    let registry = registry(&settings).with_routing(routing).unwrap();
    for (model, expected) in [
        ("gpt-5.6", vec!["openai:gpt-5.6", "corp:own", "embedded:muster-core"]),
        ("gpt-4", vec!["openai:gpt-5.6", "corp:own", "embedded:muster-core"]),
        // A list: no fallbacks of its members. The first has no key.
        ("smart", vec!["corp:own", "groq:openai/gpt-oss-120b", "openai:gpt-5.6-luna", "embedded:muster-core"]),
        ("mine", vec!["corp:own", "openai:gpt-5.6-luna"]),
        // By either name.
        ("groq-gpt-oss-120b", vec!["groq:openai/gpt-oss-120b", "corp:oss"]),
        ("openai/gpt-oss-120b", vec!["groq:openai/gpt-oss-120b", "corp:oss"]),
        ("oss", vec!["corp:oss", "groq:openai/gpt-oss-120b"]),
        ("own", vec!["corp:own"]),
        // Known, without its key: the fallback answers for it.
        ("claude-opus-5-5", vec!["openai:gpt-5.6"]),
    ] {
        assert_eq!(candidates_of(&registry, model), expected, "{model}");
    }
    assert!(first(&registry, "claude-opus-5-5").stands_in && !first(&registry, "gpt-4").stands_in);
    assert!(registry.names_model("gpt-4"));
    assert_eq!(candidates_of_list(&registry, &["gpt-4", "own"]).unwrap(), ["openai:gpt-5.6", "corp:own"]);
    let listed = registry.list();
    let alias = listed.iter().find(|model| model.id == "gpt-4").unwrap();
    assert_eq!((alias.provider.as_str(), alias.configured, alias.price.is_some()), ("openai", true, true));
}

#[test]
fn routing_that_cannot_work_is_rejected_with_the_remedy() {
    let settings = [provider("corp", &["own"])];
    for (routing, part) in [
        (routing(&[("a", &["onw"])], &[], &[]), "[alias] \"a\": names \"onw\", which no [[provider]]"),
        (routing(&[("a", &[])], &[], &[]), "[alias] \"a\": takes 1 to 16 models"),
        (routing(&[("own", &["muster-core"])], &[], &[]), "hides the model of this name at [[provider]] id = \"corp\""),
        (routing(&[("a", &["own"]), ("b", &["a"])], &[], &[]), "names \"a\", which is an alias"),
        (routing(&[], &[("onw", &["own"])], &[]), "[fallback] \"onw\""),
        (routing(&[], &[("own", &["onw"])], &[]), "[fallback] \"own\": names \"onw\""),
        (routing(&[], &[], &[&["own"]]), "takes 2 to 16 models"),
        (routing(&[], &[], &[&["own", "corp/onw"]]), "names \"corp/onw\""),
    ] {
        let error = registry(&settings).with_routing(routing).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    // What a provider without its key would serve is known.
    let keyless = registry(&[keyed("openai", &["*"], "OPENAI_API_KEY")]);
    keyless.with_routing(routing(&[("a", &["anything"])], &[], &[])).unwrap();
}
