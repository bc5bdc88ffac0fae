//! Cargo.lock (versions 1 to 4) and Cargo.toml.

use serde::Deserialize;
use toml::{Table, Value};

use super::graph::{Graph, Key};

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    /// Absent for local packages.
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

pub(super) fn lock(text: &str, graph: &mut Graph) -> Result<(), String> {
    let lock: Lock = toml::from_str(text).map_err(|error| format!("is no Cargo.lock: {}", error.message()))?;
    let keys: Vec<Key> = lock
        .package
        .iter()
        .map(|package| match package.source {
            None => graph.root(&package.name, &package.version),
            Some(_) => graph.add(&package.name, &package.version),
        })
        .collect();
    for (package, from) in lock.package.iter().zip(&keys) {
        for dependency in &package.dependencies {
            // `name`; `name version` if there are several versions; `name version (source)` if that is ambiguous too.
            let mut parts = dependency.split(' ');
            let name = parts.next().unwrap_or_default();
            let version = parts.next();
            let to = graph.of_name(name).find(|key| version.is_none_or(|version| version == key.1)).cloned();
            let to = to.ok_or_else(|| format!("{} depends on {dependency}, which is not in the file", package.name))?;
            graph.edge(from, &to);
        }
    }
    Ok(())
}

pub(super) fn manifest(text: &str, graph: &mut Graph) -> Result<(), String> {
    let manifest: Table = toml::from_str(text).map_err(|error| format!("is no Cargo.toml: {}", error.message()))?;
    let from = manifest.get("package").and_then(Value::as_table).map(|package| {
        let text = |field: &str| package.get(field).and_then(Value::as_str).unwrap_or_default();
        graph.root(text("name"), text("version"))
    });
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    for table in targets.filter_map(Value::as_table).chain([&manifest]) {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            wants(table.get(section), from.as_ref(), graph);
        }
    }
    wants(manifest.get("workspace").and_then(|workspace| workspace.get("dependencies")), from.as_ref(), graph);
    Ok(())
}

fn wants(section: Option<&Value>, from: Option<&Key>, graph: &mut Graph) {
    for (name, dependency) in section.and_then(Value::as_table).into_iter().flatten() {
        let text = |field: &str| dependency.get(field).and_then(Value::as_str);
        let requirement = dependency.as_str().or_else(|| text("version")).unwrap_or_default();
        graph.want(from, text("package").unwrap_or(name), requirement);
    }
}
