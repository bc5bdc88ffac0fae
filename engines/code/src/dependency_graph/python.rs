//! poetry.lock, uv.lock, pylock.toml (PEP 751), pyproject.toml (PEP 621 and Poetry's) and requirements files.

use toml::{Table, Value};

use super::graph::{Graph, Key};

/// PEP 503: names that differ only in case and in `-`, `_` and `.` are equal.
pub(super) fn normal(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn lock(content: &str, graph: &mut Graph) -> Result<(), String> {
    let lock: Table = toml::from_str(content).map_err(|error| format!("is not a lockfile: {}", error.message()))?;
    let packages = ["package", "packages"].into_iter().find_map(|field| lock.get(field).and_then(Value::as_array));
    let packages = packages.ok_or("has no [[package]]")?;
    let keys: Vec<Key> = packages
        .iter()
        .map(|package| {
            let (name, version) = (normal(text(package, "name")), text(package, "version"));
            // uv marks packages that are built from this folder.
            let source = package.get("source");
            let own =
                ["editable", "virtual"].iter().any(|kind| source.is_some_and(|source| source.get(kind).is_some()));
            if own { graph.root(&name, version) } else { graph.add(&name, version) }
        })
        .collect();
    for (package, from) in packages.iter().zip(&keys) {
        for (name, version) in wants(package) {
            let to = graph.of_name(&name).find(|key| version.is_none_or(|version| version == key.1)).cloned();
            if let Some(to) = to {
                graph.edge(from, &to);
            }
        }
    }
    Ok(())
}

/// Names, and versions if several are locked. Poetry has a table by name, uv and PEP 751 an array of tables; uv
/// additionally has groups.
fn wants(package: &Value) -> Vec<(String, Option<&str>)> {
    let groups = ["optional-dependencies", "dev-dependencies"];
    let groups = groups.into_iter().filter_map(|groups| package.get(groups).and_then(Value::as_table));
    let lists = package.get("dependencies").into_iter().chain(groups.flat_map(Table::values));
    let mut found = Vec::new();
    for list in lists {
        match list {
            Value::Table(table) => found.extend(table.keys().map(|name| (normal(name), None))),
            list => found.extend(list.as_array().into_iter().flatten().map(|requirement| {
                (normal(text(requirement, "name")), requirement.get("version").and_then(Value::as_str))
            })),
        }
    }
    found
}

/// Reads a pyproject.toml; `unread` gets what it leaves to other files.
pub(super) fn pyproject(content: &str, graph: &mut Graph, unread: &mut Vec<String>) -> Result<(), String> {
    let table: Table =
        toml::from_str(content).map_err(|error| format!("is not a pyproject.toml: {}", error.message()))?;
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    let project = table.get("project");
    let of = |field: &str| {
        project
            .map(|project| text(project, field))
            .filter(|text| !text.is_empty())
            .or_else(|| poetry.map(|p| text(p, field)))
    };
    // Without a name, as in many projects that only set up tools here, what it requires belongs to no package.
    let name = of("name").filter(|name| !name.is_empty());
    let from = name.map(|name| graph.root(&normal(name), of("version").unwrap_or_default()));
    let dynamic = project.and_then(|project| project.get("dynamic")).and_then(Value::as_array);
    let dynamic = |field: &str| dynamic.is_some_and(|fields| fields.iter().any(|own| own.as_str() == Some(field)));
    if project.is_none() && poetry.is_none() {
        unread
            .push("it has no [project] and no [tool.poetry]: give setup.py, setup.cfg or requirements.txt".to_owned());
    }
    for field in ["dependencies", "optional-dependencies"] {
        if dynamic(field) {
            unread
                .push(format!("its {field} are computed when it is built (`dynamic`): give the file that lists them"));
        }
    }
    let optional = project.and_then(|project| project.get("optional-dependencies")).and_then(Value::as_table);
    let groups = table.get("dependency-groups").and_then(Value::as_table);
    let lists = project.and_then(|project| project.get("dependencies")).into_iter();
    let lists =
        lists.chain(optional.into_iter().flat_map(Table::values)).chain(groups.into_iter().flat_map(Table::values));
    for requirement in lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str) {
        want(from.as_ref(), requirement, graph);
    }
    let grouped = poetry.and_then(|poetry| poetry.get("group")).and_then(Value::as_table);
    let sections = [poetry].into_iter().flatten().chain(grouped.into_iter().flat_map(Table::values));
    for section in sections.filter_map(|section| section.get("dependencies").and_then(Value::as_table)) {
        for (name, requirement) in section.iter().filter(|(name, _)| *name != "python") {
            graph.want(
                from.as_ref(),
                &normal(name),
                requirement.as_str().unwrap_or_else(|| text(requirement, "version")),
            );
        }
    }
    Ok(())
}

/// The lines of pip's requirements file format that name packages.
pub(super) fn requirements(content: &str, graph: &mut Graph, unread: &mut Vec<String>) -> Result<(), String> {
    let joined = content.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in joined.lines() {
        // A comment begins at the start of a line or after white space, since `#` occurs in URLs.
        let line = line.split(" #").next().unwrap_or_default().trim();
        let other = ["-r ", "--requirement ", "--requirement=", "-c ", "--constraint ", "-e ", "--editable "];
        if other.iter().any(|option| line.starts_with(option)) {
            unread.push(format!("`{line}` leads to another file: give it too"));
        } else if !line.is_empty() && !line.starts_with(['#', '-']) {
            want(None, line, graph);
        }
    }
    Ok(())
}

/// PEP 508: `name[extra] >= 1.0 ; marker`, or `name @ url`.
pub(super) fn want(from: Option<&Key>, requirement: &str, graph: &mut Graph) {
    let requirement =
        requirement.split([';']).next().unwrap_or_default().split(" --").next().unwrap_or_default().trim();
    let end = requirement
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
        .unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(rest, |(_, rest)| rest);
    let requirement = rest.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let pinned = requirement.strip_prefix("==").filter(|version| !version.contains([',', '*', '='])).map(str::trim);
    if !name.is_empty() {
        graph.want(from, &normal(name), pinned.unwrap_or(requirement));
    }
}
