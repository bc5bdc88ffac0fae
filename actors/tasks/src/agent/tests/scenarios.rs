//! Scenarios of `examples/agents`: tasks with known facts, run by the real engines without a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use muster_core::{Error, Kind};
use muster_engines::Context;
use serde::Deserialize;
use serde_json::Value;

use super::double::NoModels;
use super::driver::Driver;
use crate::agent::{AgentOptions, Agents};
use crate::engine::{EngineAnswer, EngineCall, EngineCaller, EngineRunner};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    agent: String,
    /// Where the facts are from.
    #[expect(dead_code, reason = "for readers")]
    source: String,
    task: String,
    #[serde(default)]
    params: Value,
    /// Files of the workspace.
    #[serde(default)]
    files: std::collections::BTreeMap<PathBuf, String>,
    #[serde(default)]
    facts: Vec<Fact>,
    /// Texts that the report has.
    report: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    /// JSON pointer into the result.
    at: String,
    value: Value,
    #[serde(default)]
    tolerance: f64,
}

impl Fact {
    fn holds(&self, result: &Value) -> bool {
        let Some(found) = result.pointer(&self.at) else { return false };
        match (found.as_f64(), self.value.as_f64()) {
            (Some(found), Some(wanted)) => (found - wanted).abs() <= self.tolerance,
            _ => *found == self.value,
        }
    }
}

/// Runs engines in this process.
#[derive(Debug)]
struct LocalEngines {
    workspace: PathBuf,
}

impl EngineRunner for LocalEngines {
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>> {
        let context = Context::with_workspace(self.workspace.clone()).refusing("no model in a scenario");
        let answer = call.engine.run(call.input, &context).map(|output| EngineAnswer {
            output,
            warnings: context.into_warnings(),
            took: Duration::ZERO,
            explained: None,
        });
        ready(answer.map_err(|failure| Error::new(Kind::Invalid, format!("{failure}: {failure:?}")))).boxed()
    }

    fn workspace_file(&self, path: String, _: EngineCaller) -> BoxFuture<'static, Result<Vec<u8>, Error>> {
        let read = std::fs::read(self.workspace.join(path));
        ready(read.map_err(|error| Error::new(Kind::NotFound, error.to_string()))).boxed()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[tokio::test]
async fn scenarios_give_their_facts_without_a_model() {
    let engines: Vec<_> = muster_engines::all().collect();
    let agents = Agents::built_in(&engines).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents");
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files(&folder).iter().filter(|path| path.is_dir()).flat_map(|agent| files(agent)) {
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            agents.get(&scenario.agent).is_some(),
            "{}: the engines of {} are not there",
            path.display(),
            scenario.agent
        );
        let workspace = tempfile::tempdir().unwrap();
        for (name, content) in &scenario.files {
            let file = workspace.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
        let engines = Arc::new(LocalEngines { workspace: workspace.path().to_owned() });
        let driver = Driver::new(agents.clone(), &engines, NoModels, AgentOptions::default());
        let result = driver.start(&scenario.agent, &scenario.task, scenario.params).result().await;
        let name = path.display();
        let report = result["text"].as_str().unwrap();
        for fact in scenario.facts.iter().filter(|fact| !fact.holds(&result)) {
            wrong.push(format!("{name}: {} is {:?}, not {}", fact.at, result.pointer(&fact.at), fact.value));
        }
        let absent = scenario.report.iter().filter(|part| !report.contains(part.as_str()));
        wrong.extend(absent.map(|part| format!("{name}: the report lacks {part:?}:\n{report}\n")));
        if report.contains("{\"") {
            wrong.push(format!("{name}: JSON in the report:\n{report}\n"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 15, "{count} scenarios");
}
