//! q194: dependency graph from manifests and lockfiles.

mod cargo;
mod go;
mod graph;
mod maven;
mod npm;
mod python;
mod setup;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::graph::Graph;
use super::xml;
use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    manifests: Vec<Manifest>,
    ecosystem: Ecosystem,
    why: Option<String>,
}

#[derive(Input)]
struct Manifest {
    path: String,
    content: String,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Ecosystem {
    Auto,
    Cargo,
    Npm,
    Python,
    Go,
    Maven,
}

/// A package is identified by its name, or by `name@version` if it has several versions.
#[derive(Output)]
pub struct Output {
    packages: Vec<Package>,
    edges: Vec<[String; 2]>,
    /// Packages that depend on each other.
    cycles: Vec<Vec<String>>,
    /// Versions by name, for names with several.
    duplicates: BTreeMap<String, Vec<String>>,
    /// Paths from one of the project's packages to the requested one, shortest first.
    why: Option<Vec<Vec<String>>>,
}

#[derive(Output)]
struct Package {
    name: String,
    version: String,
    direct: bool,
    /// 0 for the project's own packages, 1 for their direct dependencies; -1 if unreachable.
    depth: i64,
    /// Number of packages that depend on it.
    dependents: usize,
}

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Format {
    // Lockfiles first: requirements of manifests are looked up in them.
    CargoLock,
    NpmLock,
    PythonLock,
    PipfileLock,
    CargoToml,
    PackageJson,
    Pyproject,
    Requirements,
    SetupPy,
    SetupCfg,
    Pipfile,
    GoMod,
    Pom,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let mut files = Vec::new();
    let mut unknown = Vec::new();
    for (at, manifest) in input.manifests.iter().enumerate() {
        match format(manifest, input.ecosystem) {
            Some(format) => files.push((format, at, manifest)),
            None => unknown.push((at, manifest.path.as_str())),
        }
    }
    if let (true, Some((at, path))) = (files.is_empty(), unknown.first()) {
        let message = format!(
            "{path} is not a supported file: use Cargo.lock, Cargo.toml, package-lock.json, package.json, poetry.lock, \
             uv.lock, pylock.toml, pyproject.toml, requirements.txt, setup.py, setup.cfg, Pipfile, Pipfile.lock, go.mod \
             or pom.xml, or set the ecosystem"
        );
        return Err(Failure::invalid(&["manifests", &at.to_string(), "path"], message));
    }
    for (_, path) in &unknown {
        context.warn(format!("not_assessed: {path} is not a file whose dependencies can be read"));
    }
    files.sort_by_key(|(format, at, _)| (*format, *at));
    let mut graph = Graph::default();
    for (format, at, manifest) in files {
        let text = manifest.content.as_str();
        let mut unread = Vec::new();
        let outcome = match format {
            Format::CargoLock => cargo::lock(text, &mut graph),
            Format::CargoToml => cargo::manifest(text, &mut graph),
            Format::NpmLock => npm::lock(text, &mut graph),
            Format::PackageJson => npm::manifest(text, &mut graph),
            Format::PythonLock => python::lock(text, &mut graph),
            Format::Pyproject => python::pyproject(text, &mut graph, &mut unread),
            Format::Requirements => python::requirements(text, &mut graph, &mut unread),
            Format::SetupPy => setup::program(text, &mut graph).map(|computed| unread.extend(computed)),
            Format::SetupCfg => {
                unread.extend(setup::config(text, &mut graph));
                Ok(())
            }
            Format::Pipfile => setup::pipfile(text, &mut graph),
            Format::PipfileLock => setup::pipfile_lock(text, &mut graph),
            Format::GoMod => go::module(text, &mut graph),
            Format::Pom => xml::read(text).and_then(|root| maven::project(&root, &mut graph)),
        };
        outcome.map_err(|message| {
            let place = at.to_string();
            Failure::invalid(&["manifests", &place, "content"], format!("{}: {message}", manifest.path))
        })?;
        for what in unread {
            context.warn(format!("not_assessed: {}: {what}", manifest.path));
        }
        graph.check()?;
    }
    output(&graph.close(), input.why.as_deref(), context)
}

fn output(graph: &graph::Closed, why: Option<&str>, context: &Context) -> Result<Output, Failure> {
    if graph.packages().any(|package| package.depth < 0) {
        context.warn("unreachable: packages of depth -1 are named by none that is known here: give the lockfile too");
    }
    let why = why.map(|wanted| graph.why(wanted, context));
    Ok(Output {
        packages: graph.packages().collect(),
        edges: graph.edges(),
        cycles: graph.cycles(),
        duplicates: graph.duplicates(),
        why,
    })
}

fn format(manifest: &Manifest, ecosystem: Ecosystem) -> Option<Format> {
    let name = manifest.path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let known = match name.as_str() {
        "cargo.lock" => Some(Format::CargoLock),
        "cargo.toml" => Some(Format::CargoToml),
        "package-lock.json" | "npm-shrinkwrap.json" => Some(Format::NpmLock),
        "package.json" => Some(Format::PackageJson),
        "poetry.lock" | "uv.lock" => Some(Format::PythonLock),
        "pyproject.toml" => Some(Format::Pyproject),
        "setup.py" => Some(Format::SetupPy),
        "setup.cfg" => Some(Format::SetupCfg),
        "pipfile" => Some(Format::Pipfile),
        "pipfile.lock" => Some(Format::PipfileLock),
        "go.mod" => Some(Format::GoMod),
        "pom.xml" => Some(Format::Pom),
        name if name.starts_with("pylock.") => Some(Format::PythonLock),
        name if name.contains("requirements") || name.contains("constraints") => Some(Format::Requirements),
        _ => None,
    };
    let has = |text: &str| manifest.content.contains(text);
    known.or(match ecosystem {
        Ecosystem::Auto => None,
        Ecosystem::Cargo if has("[[package]]") => Some(Format::CargoLock),
        Ecosystem::Cargo => Some(Format::CargoToml),
        Ecosystem::Npm if has("\"lockfileVersion\"") => Some(Format::NpmLock),
        Ecosystem::Npm => Some(Format::PackageJson),
        Ecosystem::Python if has("[[package") => Some(Format::PythonLock),
        Ecosystem::Python if has("setup(") => Some(Format::SetupPy),
        Ecosystem::Python if has("[project]") || has("[tool.") => Some(Format::Pyproject),
        Ecosystem::Python => Some(Format::Requirements),
        Ecosystem::Go => Some(Format::GoMod),
        Ecosystem::Maven => Some(Format::Pom),
    })
}
