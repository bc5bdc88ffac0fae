//! Scenarios of `examples/agents`: tasks with known facts, run by the real engines without a model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use muster_core::{Error, Kind};
use muster_engines::{Context, LanguageData};
use serde::Deserialize;
use serde_json::Value;

use super::double::NoModels;
use super::driver::Driver;
use crate::agent::{AgentOptions, Agents};
use crate::engine::{EngineAnswer, EngineCall, EngineCaller, EngineRunner};

/// Scenarios that there are at least: the 24 of the design, of which one is five questions.
const LEAST: usize = 28;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) agent: String,
    /// Where the facts are from.
    pub(super) source: String,
    pub(super) task: String,
    #[serde(default)]
    params: Value,
    /// Files of the workspace.
    #[serde(default)]
    files: BTreeMap<PathBuf, Content>,
    /// Folders of the workspace that are folders of this repository.
    #[serde(default)]
    folders: BTreeMap<PathBuf, PathBuf>,
    #[serde(default)]
    facts: Vec<Fact>,
    /// Texts that the report has.
    report: Vec<String>,
    /// Sections of the report that differ from run to run.
    #[serde(default)]
    pub(super) varies: Vec<String>,
}

/// Content of a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    /// A file beside the scenario.
    Beside {
        file: PathBuf,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    /// JSON pointer into the result.
    at: String,
    value: Option<Value>,
    /// Values of which one is there.
    one_of: Option<Vec<Value>>,
    #[serde(default)]
    tolerance: f64,
}

impl Fact {
    fn holds(&self, result: &Value) -> bool {
        let Some(found) = result.pointer(&self.at) else { return false };
        self.wanted().iter().any(|wanted| match (found.as_f64(), wanted.as_f64()) {
            (Some(found), Some(wanted)) => (found - wanted).abs() <= self.tolerance,
            _ => found == *wanted,
        })
    }

    fn wanted(&self) -> Vec<&Value> {
        self.value.iter().chain(self.one_of.iter().flatten()).collect()
    }
}

/// A scenario with its result.
pub(super) struct ScenarioRun {
    /// Path below `examples/agents`.
    pub(super) name: String,
    pub(super) scenario: Scenario,
    pub(super) result: Value,
}

/// Runs engines in this process.
#[derive(Debug)]
struct LocalEngines {
    workspace: PathBuf,
}

/// Data of languages that `make models` fetches.
fn languages() -> Arc<LanguageData> {
    static DATA: LazyLock<Arc<LanguageData>> = LazyLock::new(|| {
        let open = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache").join(name);
            fs::File::open(&path).inspect_err(|_| println!("{} is absent: run `make models`", path.display())).ok()
        };
        Arc::new(LanguageData::of_files(open("languages.bin"), open("picture-names.json")))
    });
    Arc::clone(&DATA)
}

impl EngineRunner for LocalEngines {
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>> {
        let context = Context::with_workspace(self.workspace.clone()).refusing("no model in a scenario");
        let context = context.with_languages(languages());
        let answer = call.engine.run(call.input, &context).map(|output| EngineAnswer {
            output,
            warnings: context.into_warnings(),
            ..EngineAnswer::default()
        });
        ready(answer.map_err(|failure| Error::new(Kind::Invalid, format!("{failure}: {failure:?}")))).boxed()
    }

    fn workspace_file(&self, path: String, _: EngineCaller) -> BoxFuture<'static, Result<Vec<u8>, Error>> {
        let read = fs::read(self.workspace.join(path));
        ready(read.map_err(|error| Error::new(Kind::NotFound, error.to_string()))).boxed()
    }
}

pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in entries(from) {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

impl Scenario {
    /// Lays out the workspace. `beside` is the folder of the scenario.
    fn workspace(&self, beside: &Path) -> tempfile::TempDir {
        let workspace = tempfile::tempdir().unwrap();
        for (name, content) in &self.files {
            let target = workspace.path().join(name);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            let content = match content {
                Content::Text(text) => text.clone().into_bytes(),
                Content::Beside { file } => fs::read(beside.join(file)).unwrap(),
            };
            fs::write(target, content).unwrap();
        }
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        self.folders.iter().for_each(|(name, from)| copy(&repository.join(from), &workspace.path().join(name)));
        workspace
    }
}

/// Runs all scenarios in the order of their paths.
pub(super) async fn run_all() -> Vec<ScenarioRun> {
    let engines: Vec<_> = muster_engines::all().collect();
    let agents = Agents::built_in(&engines).unwrap();
    let mut runs = Vec::new();
    let paths = entries(&folder()).into_iter().filter(|path| path.is_dir()).flat_map(|agent| entries(&agent));
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let beside = path.parent().unwrap();
        let name = path.strip_prefix(folder()).unwrap().display().to_string();
        let scenario: Scenario = toml::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(agents.get(&scenario.agent).is_some(), "{name}: the engines of {} are not there", scenario.agent);
        assert!(beside.ends_with(&scenario.agent), "{name}: it is in the folder of another agent");
        let workspace = scenario.workspace(beside);
        let engines = Arc::new(LocalEngines { workspace: workspace.path().to_owned() });
        let mut driver = Driver::new(agents.clone(), &engines, NoModels, AgentOptions::default()).start(
            &scenario.agent,
            &scenario.task,
            scenario.params.clone(),
        );
        println!("{name}");
        let result = driver.result().await;
        runs.push(ScenarioRun { name, scenario, result });
    }
    runs
}

#[tokio::test]
async fn scenarios_give_their_facts_without_a_model() {
    let runs = run_all().await;
    let mut wrong = Vec::new();
    for ScenarioRun { name, scenario, result } in &runs {
        let report = result["text"].as_str().unwrap();
        for fact in scenario.facts.iter().filter(|fact| !fact.holds(result)) {
            wrong.push(format!("{name}: {} is {:?}, not {:?}", fact.at, result.pointer(&fact.at), fact.wanted()));
        }
        let absent = scenario.report.iter().filter(|part| !report.contains(part.as_str()));
        wrong.extend(absent.map(|part| format!("{name}: the report lacks {part:?}:\n{report}\n")));
        // An example of what may be given is JSON.
        if report.lines().any(|line| line.contains("{\"") && !line.starts_with("- Give `")) {
            wrong.push(format!("{name}: JSON in the report:\n{report}\n"));
        }
        if scenario.facts.is_empty() || scenario.source.is_empty() {
            wrong.push(format!("{name}: it has no fact or no source"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(runs.len() >= LEAST, "{} scenarios", runs.len());
}
