//! Each kind of mistake has a message of its own.

use super::declared;
use crate::agent::{Agents, CatalogueErrors};

const GOOD: &str = r#"
[[category]]
id = "code"
name = "Code"

[[agent]]
id = "mapper"
name = "Mapper"
category = "code"
summary = "Maps."
capabilities = ["map", "search"]
parameters = ["path:string:\".\"", "depth:integer:3", "search:string:null", "lines:array<string>:[]"]
engines = ["repo-tree", "code-search", "log-patterns", "stacktrace-analyse"]
system_prompt = "You map."
plan = [
  { as = "tree", engine = "repo-tree", bind = { path = "$params.path", depth = "$params.depth" } },
  { as = "hits", engine = "code-search", when = "$params.search", bind = { pattern = "$params.search", literal = true } },
  { as = "logs", engine = "log-patterns", bind = { lines = "$params.lines" } },
]
writeup = [
  { title = "Tree", from = "$steps.tree.output" },
  { title = "Hits", from = "$steps.hits.matches" },
  { title = "Logs", from = "$steps.logs.templates" },
]
"#;

fn mistakes(text: &str) -> Vec<String> {
    match Agents::parse(text, declared()) {
        Ok(_) => Vec::new(),
        Err(CatalogueErrors(mistakes)) => mistakes,
    }
}

/// `GOOD` with one change.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

#[test]
fn a_good_catalogue_has_no_mistake() {
    assert_eq!(mistakes(GOOD), [] as [&str; 0]);
}

#[test]
fn each_mistake_is_reported() {
    let cases = [
        ("id = \"mapper\"", "id = \"Map_per\"", "its id is not in kebab-case"),
        ("name = \"Mapper\"", "name = \" \"", "its name is empty"),
        ("summary = \"Maps.\"", "summary = \"\"", "its summary is empty"),
        ("[\"map\", \"search\"]", "[]", "it has no capability"),
        ("category = \"code\"", "category = \"cod\"", "there is no category \"cod\""),
        ("depth:integer:3", "depth:integer", "is not name:type:default"),
        ("depth:integer:3", "depth:int:3", "no type `int`"),
        ("depth:integer:3", "Depth:integer:3", "is not a valid name"),
        ("depth:integer:3", "depth:integer:three", "its default is not JSON"),
        ("depth:integer:3", "depth:integer:\\\"3\\\"", "its default must be an integer"),
        ("depth:integer:3", "path:integer:3", "the parameter path is defined twice"),
        ("\"stacktrace-analyse\"]", "\"log-patterns\"]", "its toolbox has log-patterns twice"),
        ("\"stacktrace-analyse\"]", "\"stacktrace\"]", "its toolbox has \"stacktrace\", which is not an engine"),
        ("\"log-patterns\", ", "", "step logs: log-patterns is not in its toolbox"),
        ("engine = \"repo-tree\"", "engine = \"repo-trees\"", "step tree: \"repo-trees\" is not an engine"),
        ("as = \"hits\"", "as = \"tree\"", "step tree: it is defined twice"),
        ("as = \"hits\"", "as = \"Hits\"", "step Hits: it is not a valid name"),
        ("pattern = \"$params.search\", ", "", "code-search needs the input pattern, which is not bound"),
        ("literal = true", "literall = true", "code-search has no such input; it has pattern"),
        ("literal = true", "literal = 1", "input literal: the literal 1  must be true or false"),
        ("\"$params.depth\"", "\"$params.deep\"", "$params.deep: there is no parameter deep"),
        ("\"$params.depth\"", "\"$params.path\"", "$params.path does not fit: value: string is not integer"),
        ("\"$params.depth\"", "\"$steps.hits.matches\"", "hits is not an earlier step"),
        ("\"$params.depth\"", "\"$Params.depth\"", "is not a reference"),
        ("\"$params.depth\"", "\"$params.depth.x\"", "integer has no field x"),
        ("\"$params.depth\"", "\"$params.depth[0]\"", "integer is not an array"),
        ("\"$params.lines\"", "[\"a\", \"$params.rows\"]", "there is no parameter rows"),
        ("when = \"$params.search\", ", "", "$params.search may be null: add `when`"),
        ("when = \"$params.search\"", "when = \"$params.find\"", "there is no parameter find"),
        (
            "bind = { lines = \"$params.lines\" }",
            "bind = { lines = \"$steps.hits.matches.path\" }",
            "the step hits may be skipped: add `when`",
        ),
        ("$steps.tree.output", "$steps.tree.outputs", "repo-tree has no output outputs; it has"),
        ("$steps.hits.matches\" }", "$steps.tree.output\" }", "step hits: nothing uses its outputs"),
        (
            "\"lines:array<string>:[]\"",
            "\"lines:array<string>:[]\", \"more:any:null\"",
            "nothing uses the parameter more",
        ),
        ("as = \"tree\",", "as = \"tree\", if = \"x\",", "unknown field `if`"),
        ("id = \"code\"", "id = \"code\"\ncount = 3", "unknown field `count`"),
    ];
    for (from, to, message) in cases {
        let found = mistakes(&with(from, to));
        assert!(found.iter().any(|mistake| mistake.contains(message)), "{to}: {found:?} lacks {message:?}");
    }
}

#[test]
fn a_plan_is_not_all_optional() {
    let two = with("  { as = \"logs\", engine = \"log-patterns\", bind = { lines = \"$params.lines\" } },\n", "");
    let one = two.replacen(
        "  { as = \"tree\", engine = \"repo-tree\", bind = { path = \"$params.path\", depth = \"$params.depth\" } },\n",
        "",
        1,
    );
    let found = mistakes(&one).join("\n");
    assert!(found.contains("every step of its plan may be skipped"), "{found}");
}

#[test]
fn agents_differ_in_id_name_and_plan() {
    let agent = &GOOD[GOOD.find("[[agent]]").unwrap()..];
    let found = mistakes(&format!("{GOOD}{agent}")).join("\n");
    for message in ["the agent \"mapper\" is defined twice", "the agent's name \"Mapper\" is defined twice"] {
        assert!(found.contains(message), "{found}");
    }
    assert!(found.contains("its plan calls the same engines as that of mapper"), "{found}");
}

#[test]
fn a_text_that_is_not_toml_is_reported_as_such() {
    assert!(mistakes("[[agent").join("").contains("TOML"));
}
