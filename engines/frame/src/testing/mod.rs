//! Tests that each family runs over its engines: one line in its `tests/`.
//!
//! ```ignore
//! muster_engine::family_tests!(muster_engines_hazard::FAMILY);
//! ```
//!
//! Of each engine: the shapes equal the catalogue; accuracy, validity and limits are described; the example is
//! deterministic and matches its schema; the vector holds; the cases in `cases/<id>.toml` hold, two or more; random
//! inputs, valid and invalid, end within seconds with an output that matches its schema or a named failure; and the
//! digest of all cases in `cases/golden.toml` is that of this version. `MUSTER_WRITE_GOLDEN=1` writes the digests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod cases;
mod golden;
mod largest;
mod random;
mod spans;

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

pub use cases::cases_hold;
pub use golden::golden_digests_hold;
pub use largest::measure;
pub use random::random_inputs_end;
pub use spans::spans_hold;

use crate::grammar::{parse_input, parse_output};
use crate::wire::{input_differences, output_differences};
use crate::{Answer, Answered, Context, Engine, Failure, FamilyEngines, LanguageData, Nature, Need, catalogue};

/// Defines the tests of a family; the argument is the static that [`family!`](crate::family!) defines. Engines whose
/// published cases are tests beside their code follow as `; cases_in_code 58, 59`.
#[macro_export]
macro_rules! family_tests {
    ($family:expr) => {
        $crate::family_tests!($family; cases_in_code);
    };
    ($family:expr; cases_in_code $($number:literal),*) => {
        #[test]
        fn engines_are_those_of_the_catalogue() {
            $crate::testing::engines_are_those_of_the_catalogue(&$family);
        }

        #[test]
        fn examples_are_deterministic_and_match_their_schemas() {
            $crate::testing::examples_match(&$family);
        }

        #[test]
        fn vectors_hold() {
            $crate::testing::vectors_hold(&$family);
        }

        #[test]
        fn cases_hold() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
            $crate::testing::cases_hold(&$family, folder.as_ref(), &[$($number),*]);
        }

        #[test]
        fn random_inputs_end() {
            $crate::testing::random_inputs_end(&$family);
        }

        #[test]
        fn golden_digests_hold() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
            let write = ::std::env::var_os("MUSTER_WRITE_GOLDEN").is_some();
            $crate::testing::golden_digests_hold(&$family, folder.as_ref(), write);
        }
    };
}

/// Creates a folder with the files that the examples of `workspace` engines use.
pub fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("docs/deep")).unwrap();
    std::fs::write(folder.path().join("docs/notes.md"), "# Notes\n\nTODO: write them\n").unwrap();
    std::fs::write(folder.path().join("docs/deep/main.rs"), "fn main() {\n    // TODO: begin\n}\n").unwrap();
    folder
}

/// Returns the data of languages that `make models` fetches; without it the engines that need it fail and say so.
pub fn languages() -> Arc<LanguageData> {
    static DATA: LazyLock<Arc<LanguageData>> = LazyLock::new(|| {
        let open = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache").join(name);
            File::open(&path).inspect_err(|_| println!("{} is absent: run `make models`", path.display())).ok()
        };
        Arc::new(LanguageData::of_files(open("languages.bin"), open("picture-names.json")))
    });
    Arc::clone(&DATA)
}

/// Runs an engine with all that its nature allows. The model gateway answers as with the embedded model; each other need
/// is refused.
///
/// # Errors
/// Those of the engine.
pub fn run(engine: &Engine, input: Value) -> Result<Value, Failure> {
    let context = || Context::default().with_languages(languages());
    match engine.nature {
        Nature::Workspace => {
            let folder = workspace();
            engine.run(input, &Context::with_workspace(folder.path().to_owned()))
        }
        Nature::Pure => engine.run(input, &context()),
        Nature::Model | Nature::State => match engine.run(input.clone(), &context()) {
            Err(Failure::Needs { need: need @ Need::Gateway { .. } }) => {
                let answer = Answer::Given(embedded_reply());
                engine.run(input, &context().with_answers(vec![Answered { need, answer }]))
            }
            Err(Failure::Needs { .. }) => engine.run(input, &context().refusing("this is a test")),
            ended => ended,
        },
    }
}

/// A reply of `POST /api/q159/llm/chat` by the embedded model, with what a need adds to it.
fn embedded_reply() -> Value {
    json!({
        "content": "pong", "model": "muster-core", "provider": "embedded", "latency_ms": 40, "cost_usd": 0.0,
        "tokens": { "prompt": 9, "completion": 2, "total": 11 }, "finish_reason": "stop", "breaker": "closed",
        "attempts": [{ "provider": "embedded", "model": "muster-core", "outcome": "ok", "latency_ms": 39 }],
        "budget": { "model": "muster-core", "spent_usd": 0.0, "limit_usd": null, "resets_at": "2027-01-01T00:00:00Z" },
        "tool_calls": [], "breakers": { "embedded": "closed" },
    })
}

/// Builds the validator of a schema.
pub fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::options().should_validate_formats(true).build(schema).unwrap()
}

/// Returns why a value does not match a schema; empty if it does.
pub fn errors(validator: &jsonschema::Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Fails if a registration has no record, or a struct is not what its record says.
pub fn engines_are_those_of_the_catalogue(family: &'static FamilyEngines) {
    let mut wrong = Vec::new();
    let records = catalogue::records(family.catalogue()).unwrap_or_else(|error| panic!("{}: {error}", family.name()));
    let mut numbers = HashSet::new();
    for registration in family.registrations() {
        let Some(record) = records.iter().find(|record| record.number == registration.number) else {
            wrong.push(format!("q{} is not in the catalogue of {}", registration.number, family.name()));
            continue;
        };
        if !numbers.insert(registration.number) {
            wrong.push(format!("q{} is registered twice", registration.number));
        }
        if record.id.replace('-', "_") != registration.module {
            wrong.push(format!("q{} is {}, not {}", record.number, record.id, registration.module));
        }
        for (member, text) in [("accuracy", &record.accuracy), ("valid", &record.valid), ("limits", &record.limits)] {
            if text.is_empty() {
                wrong.push(format!("{}: `{member}` is empty in the catalogue", record.id));
            }
        }
        let inputs: Vec<_> = record.inputs.iter().map(|text| parse_input(text).unwrap()).collect();
        let outputs: Vec<_> = record.outputs.iter().map(|text| parse_output(text).unwrap()).collect();
        let (input, output) = (registration.shapes)();
        let at = |way: &'static str| move |difference: String| format!("{}'s {way}{difference}", record.id);
        wrong.extend(input_differences(&input, &inputs).into_iter().map(at("input")));
        wrong.extend(output_differences(&output, &outputs).into_iter().map(at("output")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fails if an example is invalid, or its output differs between two runs or from the schema.
pub fn examples_match(family: &'static FamilyEngines) {
    let mut wrong = Vec::new();
    for engine in family.engines() {
        let id = engine.id;
        let example: Value = serde_json::from_str(engine.example).unwrap_or_else(|error| panic!("{id}: {error}"));
        let invalid = errors(&validator(&engine.input_schema()), &example);
        wrong.extend(invalid.into_iter().map(|error| format!("{id}'s example: {error}")));
        match run(engine, example.clone()) {
            Ok(output) => {
                let invalid = errors(&validator(&engine.output_schema()), &output);
                wrong.extend(invalid.into_iter().map(|error| format!("{id}'s output: {error}\n{output:#}")));
                if run(engine, example).as_ref() != Ok(&output) {
                    wrong.push(format!("{id} is not repeatable"));
                }
            }
            Err(failure) => wrong.push(format!("{id}'s example: {failure:?}")),
        }
        if engine.nature == Nature::Workspace {
            let refused = engine.run(engine.example(), &Context::default());
            assert_eq!(refused, Err(Failure::NoWorkspace), "{id}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fails if an engine has no vector or does not reproduce it.
pub fn vectors_hold(family: &'static FamilyEngines) {
    let mut wrong = Vec::new();
    for engine in family.engines() {
        let Some(vector) = family.vector(engine) else {
            wrong.push(format!("{} has no vector", engine.id));
            continue;
        };
        match run(engine, vector.input.clone()) {
            Ok(output) => wrong.extend(vector.mismatches(&output)),
            Err(failure) => wrong.push(format!("{}: {failure:?}", engine.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
