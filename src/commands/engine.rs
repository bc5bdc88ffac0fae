//! Engines on JSON lines, without a server.

use std::fs::File;
use std::io::{BufRead, Read as _, Write};
use std::path::Path;
use std::sync::Arc;

use muster_cli::{EngineDescribeArgs, EngineListArgs, EngineRunArgs, EngineSampleArgs};
use muster_engines::{Context, Engine, Family, LanguageData, Nature};
use muster_models::MediaManifest;
use muster_tasks::engine::EngineAnswer;
use serde_json::{Value, json};

use super::configuration;
use crate::http::engines::{EngineBody, EngineEntry, EngineRun};

/// Maximum length of a line, in bytes: as of a request's largest body.
const MAX_LINE: u64 = 8 << 20;

/// Returns the engine with this number or id.
fn engine_of(name: &str) -> Result<&'static Engine, String> {
    let number = name.strip_prefix('q').unwrap_or(name).parse().ok();
    let found = number.and_then(muster_engines::by_number).or_else(|| muster_engines::by_id(name));
    found.ok_or_else(|| format!("this program has no engine {name}: `muster engine list` lists them"))
}

/// Lists the engines, in columns or as lines of JSON.
pub(super) fn list(args: &EngineListArgs, output: &mut dyn Write) -> Result<(), String> {
    let family = match &args.family {
        None => None,
        Some(name) => {
            let known =
                || format!("there is no family {name}: it is one of {}", Family::ALL.map(Family::name).join(", "));
            Some(Family::of_name(name).ok_or_else(known)?)
        }
    };
    for engine in muster_engines::search(family, &args.words.join(" ")) {
        let line = if args.json {
            serde_json::to_string(&EngineEntry::from(engine)).map_err(|error| error.to_string())?
        } else {
            let Engine { number, id, summary, .. } = *engine;
            format!("{:<5} {id:<28} {:<10} {summary}", format!("q{number}"), engine.family.name())
        };
        writeln!(output, "{line}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Describes an engine, as JSON.
pub(super) fn describe(args: &EngineDescribeArgs, output: &mut dyn Write) -> Result<(), String> {
    let described = EngineBody::from(engine_of(&args.engine)?);
    let text = serde_json::to_string_pretty(&described).map_err(|error| error.to_string())?;
    writeln!(output, "{text}").map_err(|error| error.to_string())
}

/// Runs the engine on each line; a line that is no JSON ends it.
pub(super) fn run(args: &EngineRunArgs, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), String> {
    let engine = engine_of(&args.engine)?;
    let config = configuration(&args.settings)?;
    let languages = Arc::new(languages(&config.llm.cache));
    let workspace = std::path::absolute(&config.workspace.path).map_err(|error| error.to_string())?;
    for number in 1.. {
        let mut line = String::new();
        (&mut *input).take(MAX_LINE).read_line(&mut line).map_err(|error| error.to_string())?;
        if line.is_empty() {
            break;
        }
        let given = serde_json::from_str(&line).map_err(|error| format!("line {number} is no JSON: {error}"))?;
        let context = match engine.nature {
            Nature::Workspace => Context::with_workspace(workspace.clone()),
            Nature::Pure | Nature::Model | Nature::State => Context::default(),
        };
        let context = context.with_languages(Arc::clone(&languages)).refusing("there is no server");
        let context = if args.explain { context.with_explanation() } else { context };
        let answer = answer(engine, given, context);
        writeln!(output, "{answer}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Returns what a run answers, or the failure.
fn answer(engine: &'static Engine, input: Value, context: Context) -> Value {
    let begun = std::time::Instant::now();
    let outcome = engine.run(input, &context);
    let took = begun.elapsed();
    let (warnings, explained) = context.finish();
    let answer = outcome.map(|output| {
        EngineRun::of(engine, EngineAnswer { output, warnings, took, explained, ..EngineAnswer::default() })
    });
    let value = match answer {
        Ok(answer) => serde_json::to_value(answer),
        Err(failure) => serde_json::to_value(failure),
    };
    value.unwrap_or_else(|error| json!({ "failure": "internal", "message": error.to_string() }))
}

/// Opens the data of languages in the folder of models.
fn languages(models: &Path) -> LanguageData {
    let open = |id: &str, role: &str| {
        let path = MediaManifest::embedded().ok()?.get(id)?.path(models, role).ok()?;
        File::open(path).ok()
    };
    LanguageData::of_files(open("languages", "table"), open("names", "names"))
}

/// Writes valid inputs, one a line.
pub(super) fn sample(args: &EngineSampleArgs, output: &mut dyn Write) -> Result<(), String> {
    let engine = engine_of(&args.engine)?;
    for input in muster_engines::sample::inputs(engine, args.seed).take(args.count as usize) {
        writeln!(output, "{input}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_lines(engine: &str, input: &str) -> Result<Vec<Value>, String> {
        let settings = muster_cli::Settings { config: None, data: None };
        let args = EngineRunArgs { engine: engine.to_owned(), explain: true, settings };
        let mut output = Vec::new();
        run(&args, &mut input.as_bytes(), &mut output)?;
        let lines = String::from_utf8(output).unwrap();
        Ok(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    #[test]
    fn each_line_is_answered_by_a_line() {
        let valid = json!({ "schema": { "type": "integer" }, "document": 1 });
        let answers = run_lines("q109", &format!("{valid}\n{{}}\n")).unwrap();
        assert_eq!(
            (&answers[0]["engine"], &answers[0]["output"]["valid"]),
            (&json!("json-schema-validate"), &json!(true))
        );
        assert!(answers[0]["version"].is_string() && answers[0]["explain"]["references"].is_array());
        assert_eq!((&answers[1]["failure"], answers.len()), (&json!("invalid"), 2));
        assert!(run_lines("json-schema-validate", "x\n").unwrap_err().contains("line 1"));
        assert!(run_lines("q9999", "").is_err());
    }

    #[test]
    fn engines_are_found_by_family_and_words_and_described() {
        let listed = |family: Option<&str>, words: &[&str], json| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            let mut output = Vec::new();
            list(&EngineListArgs { words, family: family.map(str::to_owned), json }, &mut output)?;
            Ok::<_, String>(String::from_utf8(output).unwrap())
        };
        let line = listed(Some("data"), &["SCHEMA", "validat"], false).unwrap();
        assert!(line.starts_with("q109  json-schema-validate ") && line.lines().count() == 1, "{line}");
        let entry: Value = serde_json::from_str(&listed(None, &["json-schema-validate"], true).unwrap()).unwrap();
        assert_eq!((&entry["number"], &entry["family"]), (&json!(109), &json!("data")));
        assert!(listed(Some("none"), &[], false).unwrap_err().contains("hazard"));
        let mut output = Vec::new();
        describe(&EngineDescribeArgs { engine: "q109".to_owned() }, &mut output).unwrap();
        let described: Value = serde_json::from_slice(&output).unwrap();
        assert!(described["input_schema"]["properties"]["document"].is_object() && described["method"].is_string());
    }

    #[test]
    fn samples_are_valid_and_the_same_for_the_same_seed() {
        let lines = |seed| {
            let mut output = Vec::new();
            let args = EngineSampleArgs { engine: "q109".to_owned(), count: 5, seed };
            sample(&args, &mut output).unwrap();
            String::from_utf8(output).unwrap()
        };
        let engine = engine_of("q109").unwrap();
        assert_eq!(lines(7), lines(7));
        assert_ne!(lines(7), lines(8));
        for line in lines(7).lines() {
            assert!(engine.accept(serde_json::from_str(line).unwrap()).is_ok(), "{line}");
        }
    }
}
