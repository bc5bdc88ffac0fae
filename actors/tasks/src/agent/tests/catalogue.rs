use std::collections::HashSet;

use serde_json::json;

use super::{agents, declared};
use crate::agent::{Agents, CatalogueFile};

const TWELVE: [&str; 12] = [
    "code-explorer",
    "code-reviewer",
    "refactoring-assistant",
    "test-analyst",
    "debugger",
    "release-manager",
    "dependency-auditor",
    "api-designer",
    "database-reviewer",
    "config-engineer",
    "data-cleaner",
    "json-wrangler",
];

#[test]
fn the_first_twelve_agents_match_the_declared_engines() {
    let agents = agents();
    let ids: Vec<&str> = agents.list().iter().map(|agent| agent.id.as_str()).collect();
    assert_eq!(ids, TWELVE);
    assert_eq!(agents.warnings(), &[] as &[String]);
    assert_eq!(agents.by_category("code").count(), 10);
    assert_eq!(agents.categories().len(), 12);
    assert!(agents.get("debugger").is_some() && agents.get("nobody").is_none());
}

/// With the engines of this build: only a disabled cargo feature may cause an agent to be omitted.
#[test]
fn the_catalogue_matches_the_engines_of_this_build() {
    let engines: Vec<_> = muster_engines::all().collect();
    let agents = Agents::built_in(&engines).unwrap();
    let built: HashSet<&str> = engines.iter().map(|engine| engine.id).collect();
    for engine in declared() {
        let known = built.contains(engine.id) || agents.warnings().iter().any(|warning| warning.contains(engine.id));
        let required = self::agents().list().iter().any(|agent| agent.toolbox.iter().any(|tool| tool.id == engine.id));
        assert!(known || !required, "{} is neither built nor reported as missing", engine.id);
    }
    let left_out = agents.warnings().iter().filter(|warning| warning.contains("is omitted")).count();
    assert_eq!(agents.list().len() + left_out, TWELVE.len(), "{:?}", agents.warnings());
}

/// From the catalogue's generated schemas.
#[test]
fn params_have_the_schema_of_the_catalogue() {
    let agents = agents();
    assert_eq!(
        agents.get("code-explorer").unwrap().params_schema(),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": {
                "path": { "type": "string", "default": "." },
                "depth": { "type": "integer", "default": 3 },
                "output_format": { "type": "string", "enum": ["tree", "json", "markdown"], "default": "markdown" },
                "search": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null },
            },
            "required": [], "additionalProperties": false,
        })
    );
    assert_eq!(
        agents.get("debugger").unwrap().params_schema()["properties"]["trace"],
        json!({ "type": "string", "default": "$task" })
    );
    assert_eq!(
        agents.get("data-cleaner").unwrap().params_schema()["required"],
        json!(["rows", "rules", "match_fields"])
    );
}

#[test]
fn an_agent_whose_plan_lacks_an_optional_engine_is_omitted_with_a_warning() {
    let without: Vec<_> = declared().iter().copied().filter(|engine| engine.id != "table-query").collect();
    let agents = Agents::built_in(&without).unwrap();
    assert!(agents.get("database-reviewer").is_none());
    let warnings = agents.warnings().join("\n");
    assert!(warnings.contains("agent database-reviewer is omitted: its plan needs table-query (cargo feature tables)"));
    assert!(warnings.contains("agent json-wrangler lacks table-query"), "{warnings}");
    assert!(agents.get("json-wrangler").unwrap().toolbox.iter().all(|engine| engine.id != "table-query"));
}

#[test]
fn an_optional_engine_hides_no_mistake() {
    let gone = ["contact-normalise", "record-linkage"];
    let without: Vec<_> = declared().iter().copied().filter(|engine| !gone.contains(&engine.id)).collect();
    let mistakes = Agents::built_in(&without).unwrap_err();
    assert_eq!(mistakes.0, ["agent data-cleaner: step dups: \"record-linkage\" is not an engine"]);
}

#[test]
fn an_engine_that_no_feature_includes_prevents_the_start() {
    let without: Vec<_> = declared().iter().copied().filter(|engine| engine.id != "json-query").collect();
    let mistakes = Agents::built_in(&without).unwrap_err().to_string();
    assert!(mistakes.contains("agent json-wrangler: step pick: \"json-query\" is not an engine"), "{mistakes}");
}

/// The agent of `benches/tasks`: no plan, and the instruction as its result.
#[test]
fn an_operators_own_agent_follows_the_built_in_ones() {
    let text = include_str!("../../../../../benches/tasks/agents.toml");
    let own = |text: &str| CatalogueFile { name: "own.toml".to_owned(), text: text.to_owned() };
    let engines: Vec<_> = muster_engines::all().collect();
    let agents = Agents::with_own(&[own(text)], &engines).unwrap();
    assert_eq!(agents.list().last().map(|agent| agent.id.as_str()), Some("no-op"));
    let mistakes = |text: &str| Agents::with_own(&[own(text)], &engines).unwrap_err().0;
    let line = text.lines().position(|line| line.starts_with("id = \"no-op\"")).unwrap() + 1;
    let second = text.matches('\n').count() + line;
    let found = mistakes(&text.repeat(2));
    assert!(found.contains(&format!("own.toml, line {second}: the agent \"no-op\" is defined twice")), "{found:?}");
    let found = mistakes(&text.replace("category = ", "categorie = "));
    assert!(found.iter().all(|mistake| mistake.starts_with("own.toml, line ")), "{found:?}");
    assert!(found[0].contains("categorie"), "{found:?}");
    let [found] = &mistakes(&text.replace("category = \"", "category = \"un"))[..] else { panic!("one mistake") };
    assert!(found.starts_with(&format!("own.toml, line {line}: agent no-op: there is no category")), "{found}");
}
