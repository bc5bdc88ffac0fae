use std::collections::HashSet;

use serde_json::json;

use super::{agents, declared};
use crate::agent::{Agents, CatalogueFile};

/// Each agent is right before its engines are built.
#[test]
fn all_agents_match_the_catalogue_of_engines() {
    let agents = agents();
    assert_eq!(declared().len(), 247);
    assert_eq!(agents.list().len(), 109);
    assert_eq!((agents.warnings(), agents.pending()), (&[] as &[String], &[] as &[String]));
    assert_eq!(agents.by_category("code").count(), 10);
    let sizes: Vec<usize> =
        agents.categories().iter().map(|category| agents.by_category(&category.id).count()).collect();
    assert_eq!(sizes, [10, 12, 10, 9, 12, 8, 10, 10, 9, 8, 6, 5]);
    assert!(agents.get("debugger").is_some() && agents.get("nobody").is_none());
}

/// An agent is omitted only because of engines that are not built, which its message names.
#[test]
fn the_agents_of_this_build_are_those_with_all_engines() {
    let engines: Vec<_> = muster_engines::all().collect();
    let built: HashSet<&str> = engines.iter().map(|engine| engine.id).collect();
    let available = Agents::built_in(&engines).unwrap();
    assert_eq!(available.warnings(), &[] as &[String], "a family is absent");
    for agent in agents().list() {
        let lacks = agent.plan.iter().map(|step| step.engine.id).filter(|id| !built.contains(id));
        let lacks: Vec<&str> = lacks.collect();
        assert_eq!(available.get(&agent.id).is_some(), lacks.is_empty(), "{}", agent.id);
        let omitted = format!("agent {} is omitted: ", agent.id);
        let note = available.pending().iter().find(|note| note.starts_with(&omitted));
        assert!(lacks.is_empty() == note.is_none(), "{}: {note:?}", agent.id);
        assert!(lacks.iter().all(|id| note.unwrap().contains(id)), "{}: {note:?}", agent.id);
    }
    println!("{} of {} agents are complete", available.list().len(), agents().list().len());
}

#[test]
fn the_ids_of_engines_are_those_of_their_catalogue() {
    let rows: toml::Value = toml::from_str(include_str!("../catalogue/engines.toml")).unwrap();
    let listed: Vec<&str> = rows["optional"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row["engines"].as_array().unwrap())
        .map(|id| id.as_str().unwrap())
        .collect();
    let ids: Vec<&str> = declared().iter().map(|engine| engine.id).collect();
    assert_eq!(listed, ids);
}

/// What the published definition asks for twice is a reference, and what a step computes is not asked for.
#[test]
fn nothing_is_asked_for_twice() {
    let agents = agents();
    let required = |id: &str| -> Vec<String> {
        serde_json::from_value(agents.get(id).unwrap().params_schema()["required"].clone()).unwrap()
    };
    for (agent, wanted) in [
        ("telemetry-analyst", &[][..]),
        ("literature-researcher", &["documents"]),
        ("corpus-linguist", &["documents"]),
        ("social-listener", &["documents"]),
        ("spatial-analyst", &["sites"]),
        ("asset-tracker", &["positions"]),
        ("cyclone-analyst", &["track", "central_pressure_hpa"]),
        ("maritime-search-planner", &["last_known", "time", "target_time", "wind"]),
        ("soc-analyst", &["rules", "events"]),
        ("radio-planner", &["site_a", "site_b"]),
        ("drone-flight-planner", &["home", "target", "date"]),
    ] {
        assert_eq!(required(agent), wanted, "{agent}");
    }
}

/// The name of a parameter may end in its unit.
#[test]
fn units_agree_with_names() {
    const SUFFIXES: [(&str, &str); 24] = [
        ("_km2", "km2"),
        ("_m3", "m3"),
        ("_ha", "ha"),
        ("_km", "km"),
        ("_mm", "mm"),
        ("_m", "m"),
        ("_hpa", "hPa"),
        ("_kmh", "km/h"),
        ("_ms", "m/s"),
        ("_mmh", "mm/h"),
        ("_gs", "g/s"),
        ("_c", "degC"),
        ("_mhz", "MHz"),
        ("_dbm", "dBm"),
        ("_hours", "h"),
        ("_h", "h"),
        ("_minutes", "min"),
        ("_days", "d"),
        ("_months", "month"),
        ("_s", "s"),
        ("_kg", "kg"),
        ("_deg", "deg"),
        ("_usd", "USD"),
        ("_percent", "%"),
    ];
    for agent in agents().list() {
        for parameter in &agent.parameters {
            let suffix = SUFFIXES.iter().find(|(suffix, _)| parameter.name.ends_with(suffix));
            let Some((_, unit)) = suffix else { continue };
            assert_eq!(parameter.unit, *unit, "{} of {}", parameter.name, agent.id);
        }
    }
}

#[test]
fn a_parameter_has_unit_and_range_of_its_inputs() {
    let agents = agents();
    let schema = |agent: &str, name: &str| agents.get(agent).unwrap().params_schema()["properties"][name].clone();
    assert_eq!(
        schema("pharmacy-advisor", "age"),
        json!({ "default": null, "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 120, "x-unit": "yr" }, { "type": "null" },
        ] })
    );
    // Of steps with conditions the widest, and no more than the step without one.
    assert_eq!(
        schema("temperature-extremes-analyst", "temperature_c"),
        json!({ "type": "number", "minimum": -60, "maximum": 60, "x-unit": "degC" })
    );
    assert_eq!(
        schema("earthquake-analyst", "magnitude"),
        json!({ "type": "number", "minimum": 0, "maximum": 10, "x-unit": "Mw" })
    );
    // Members of records.
    assert_eq!(schema("cyclone-analyst", "track")["items"]["properties"]["wind"]["x-unit"], json!("kt"));
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
                "depth": { "type": "integer", "minimum": 1, "maximum": 32, "default": 3 },
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
    assert_eq!(agents.get("data-cleaner").unwrap().params_schema()["required"], json!(["rows"]));
}

#[test]
fn an_agent_whose_plan_lacks_an_engine_is_omitted_with_a_note() {
    let without: Vec<_> = declared().iter().copied().filter(|engine| engine.id != "table-query").collect();
    let agents = Agents::built_in(&without).unwrap();
    assert!(agents.get("database-reviewer").is_none());
    assert_eq!(agents.warnings(), &[] as &[String], "the family is there");
    let pending = agents.pending().join("\n");
    assert!(pending.contains("agent database-reviewer is omitted: its plan needs table-query (family data)"));
    assert!(pending.contains("agent json-wrangler lacks table-query"), "{pending}");
    assert!(agents.get("json-wrangler").unwrap().toolbox.iter().all(|engine| engine.id != "table-query"));
}

#[test]
fn an_engine_that_is_in_no_catalogue_prevents_the_start() {
    let agent = agent_with("\"a:string:required\"", "engine = \"json-quary\", bind = { document = \"$params.a\" }");
    let mistakes = Agents::parse(&agent, declared()).unwrap_err().to_string();
    assert!(mistakes.contains("agent own: step one: \"json-quary\" is not an engine"), "{mistakes}");
}

/// An agent with one step.
fn agent_with(parameters: &str, step: &str) -> String {
    let engine = step.split('"').nth(1).unwrap();
    format!(
        "[[category]]\nid = \"code\"\nname = \"Code\"\n[[agent]]\nid = \"own\"\nname = \"Own\"\ncategory = \"code\"\n\
         summary = \"s\"\ncapabilities = [\"c\"]\nparameters = [{parameters}]\nengines = [\"{engine}\"]\n\
         system_prompt = \"p\"\nplan = [{{ as = \"one\", {step} }}]\n\
         writeup = [{{ title = \"T\", from = \"$params.a\" }}, {{ title = \"U\", from = \"$steps.one.link\" }}]\n"
    )
}

/// Each rule of units and defaults refuses its mistake.
#[test]
fn units_ranges_and_defaults_that_do_not_agree_are_mistakes() {
    let bind = "engine = \"radio-path\", bind = { frequency = \"$params.a\", distance = \"$params.d\", antenna_a = 1, antenna_b = \"$params.b\" }";
    for (parameters, wanted) in [
        ("\"a:number:100\", \"d:number:1\", \"b:number:\\\"$params.d\\\"\"", None),
        ("\"a:number:5\", \"d:number:1\", \"b:number:2\"", Some("the parameter a: its default 5 must be 30 to 40000")),
        (
            "\"a:number:100\", \"d:number:1\", \"b:number:\\\"$params.a\\\"\"",
            Some("$params.a is in MHz, which does not convert to m"),
        ),
        ("\"a:number:100\", \"d:number:\\\"$params.b\\\"\", \"b:number:2\"", Some("there is no parameter b")),
        ("\"a:number:100\", \"d:number:\\\"$now\\\"\", \"b:number:2\"", Some("$now is neither $task nor a parameter")),
        ("\"a:number:100\", \"d:number:\\\"$task\\\"\", \"b:number:2\"", Some("$task does not fit")),
    ] {
        let text = agent_with(parameters, bind).replace("$steps.one.link", "$steps.one.margin");
        match (Agents::parse(&text, declared()), wanted) {
            (Ok(_), None) => {}
            (Err(mistakes), Some(wanted)) => assert!(mistakes.to_string().contains(wanted), "{mistakes}"),
            (found, wanted) => panic!("{parameters}: {found:?}, not {wanted:?}"),
        }
    }
    let twice = "engine = \"radio-path\", bind = { frequency = \"$params.a\", distance = \"$params.a\", antenna_a = 1, antenna_b = 1 }";
    let text = agent_with("\"a:number:100\"", twice).replace("$steps.one.link", "$steps.one.margin");
    let mistakes = Agents::parse(&text, declared()).unwrap_err().to_string();
    assert!(
        mistakes.contains("is in km for one input and in MHz for this one")
            || mistakes.contains("is in MHz for one input and in km for this one"),
        "{mistakes}"
    );
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
