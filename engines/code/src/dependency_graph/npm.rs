//! package-lock.json (lockfileVersion 2 and 3) and package.json.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::graph::{Graph, Key};

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    name: String,
    packages: Option<BTreeMap<String, Locked>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Locked {
    name: Option<String>,
    version: Option<String>,
    /// Target of a link: one of the project's own packages.
    resolved: Option<String>,
    link: bool,
    dependencies: BTreeMap<String, String>,
    dev_dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
    peer_dependencies: BTreeMap<String, String>,
}

impl Locked {
    fn wants(&self) -> impl Iterator<Item = (&String, &String)> {
        let sections =
            [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies, &self.peer_dependencies];
        sections.into_iter().flatten()
    }
}

const FOLDER: &str = "node_modules/";

pub(super) fn lock(text: &str, graph: &mut Graph) -> Result<(), String> {
    let lock: Lock = serde_json::from_str(text).map_err(|error| format!("is not a package-lock.json: {error}"))?;
    let packages = lock.packages.ok_or("has no `packages`: npm 7 and later writes lockfileVersion 2 or 3")?;
    let mut keys: BTreeMap<&str, Key> = BTreeMap::new();
    for (path, package) in packages.iter().filter(|(_, package)| !package.link) {
        let version = package.version.as_deref().unwrap_or_default();
        let installed = path.rsplit_once(FOLDER).map(|(_, name)| name);
        let name = match (&package.name, installed) {
            (Some(name), _) => name.as_str(),
            (None, Some(name)) => name,
            (None, None) if path.is_empty() => lock.name.as_str(),
            (None, None) => path.as_str(),
        };
        let own = installed.is_none();
        keys.insert(path, if own { graph.root(name, version) } else { graph.add(name, version) });
    }
    for (path, package) in packages.iter().filter(|(_, package)| package.link) {
        let target = package.resolved.as_deref().and_then(|target| keys.get(target)).cloned();
        if let Some(target) = target {
            keys.insert(path, target);
        }
    }
    for (path, package) in &packages {
        let Some(from) = keys.get(path.as_str()).filter(|_| !package.link) else { continue };
        for (name, _) in package.wants() {
            // Optional packages may not be installed.
            if let Some(to) = found(path, name, &keys) {
                graph.edge(from, to);
            }
        }
    }
    Ok(())
}

/// Node's resolution: in the package's folder, then in each parent folder.
fn found<'k>(path: &str, name: &str, keys: &'k BTreeMap<&str, Key>) -> Option<&'k Key> {
    let mut folder = path;
    loop {
        let place = if folder.is_empty() { format!("{FOLDER}{name}") } else { format!("{folder}/{FOLDER}{name}") };
        if let Some(key) = keys.get(place.as_str()) {
            return Some(key);
        }
        folder = match folder.rsplit_once(FOLDER) {
            Some((above, _)) => above.trim_end_matches('/'),
            None if folder.is_empty() => return None,
            None => folder.rsplit_once('/').map_or("", |(above, _)| above),
        };
    }
}

pub(super) fn manifest(text: &str, graph: &mut Graph) -> Result<(), String> {
    let package: Locked = serde_json::from_str(text).map_err(|error| format!("is not a package.json: {error}"))?;
    let name = package.name.as_deref().unwrap_or("package.json");
    let from = graph.root(name, package.version.as_deref().unwrap_or_default());
    for (name, requirement) in package.wants() {
        graph.want(Some(&from), name, requirement);
    }
    Ok(())
}
