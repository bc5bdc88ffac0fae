use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use muster_engines::grammar::{input_schema, output_schema, parse_input, parse_output};
use muster_engines::{Context, Engine, LanguageData, Nature, all};
use serde_json::Value;

/// A folder with the files that `workspace` engines' examples use.
pub fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("docs/deep")).unwrap();
    std::fs::write(folder.path().join("docs/notes.md"), "# Notes\n\nTODO: write them\n").unwrap();
    std::fs::write(folder.path().join("docs/deep/main.rs"), "fn main() {\n    // TODO: begin\n}\n").unwrap();
    folder
}

/// The data of languages that `make models` fetches; without it the engines that need it fail and say so.
fn languages() -> Arc<LanguageData> {
    static DATA: LazyLock<Arc<LanguageData>> = LazyLock::new(|| {
        let open = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models-cache").join(name);
            File::open(&path).inspect_err(|_| println!("{} is absent: run `make models`", path.display())).ok()
        };
        Arc::new(LanguageData::of_files(open("languages.bin"), open("picture-names.json")))
    });
    Arc::clone(&DATA)
}

pub fn run(engine: &Engine, input: Value) -> Result<Value, muster_engines::Failure> {
    if engine.nature == Nature::Pure {
        return engine.run(input, &Context::default().with_languages(languages()));
    }
    let folder = workspace();
    engine.run(input, &Context::with_workspace(folder.path().to_owned()))
}

pub fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::options().should_validate_formats(true).build(schema).unwrap()
}

#[test]
fn every_field_parses() {
    for engine in all() {
        for (text, field) in engine.inputs.iter().map(|text| (text, parse_input(text))) {
            assert!(field.is_ok(), "{} {text}: {field:?}", engine.id);
        }
        for (text, field) in engine.outputs.iter().map(|text| (text, parse_output(text))) {
            assert!(field.is_ok(), "{} {text}: {field:?}", engine.id);
        }
        assert!(jsonschema::meta::is_valid(&input_schema(&engine.fields().inputs)), "{}", engine.id);
        assert!(jsonschema::meta::is_valid(&output_schema(&engine.fields().outputs)), "{}", engine.id);
    }
}

#[test]
fn numbers_and_ids_are_unique() {
    let (mut numbers, mut ids) = (HashSet::new(), HashSet::new());
    for engine in all() {
        assert!(numbers.insert(engine.number), "q{} is there twice", engine.number);
        assert!(ids.insert(engine.id), "{} is there twice", engine.id);
    }
}

#[test]
fn every_example_is_deterministic_and_its_output_matches_its_schema() {
    for engine in all() {
        let example: Value = serde_json::from_str(engine.example).unwrap_or_else(|e| panic!("{}: {e}", engine.id));
        let errors: Vec<_> = validator(&engine.input_schema()).iter_errors(&example).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}'s example: {errors:?}", engine.id);
        let output = run(engine, example.clone()).unwrap_or_else(|failure| panic!("{}: {failure:?}", engine.id));
        let errors: Vec<_> = validator(&engine.output_schema()).iter_errors(&output).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}'s output: {errors:?}\n{output:#}", engine.id);
        assert_eq!(run(engine, example).unwrap(), output, "{} is not repeatable", engine.id);
    }
}

#[test]
fn only_workspace_engines_need_a_workspace() {
    for engine in all() {
        let bare = engine.run(serde_json::from_str(engine.example).unwrap(), &Context::default());
        let refused = matches!(bare, Err(muster_engines::Failure::NoWorkspace));
        assert_eq!(refused, engine.nature == Nature::Workspace, "{}", engine.id);
    }
}
