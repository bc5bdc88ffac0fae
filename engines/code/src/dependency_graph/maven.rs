//! pom.xml (Maven's POM Reference), limited to one file: parents and imported BOMs are not read.

use std::collections::BTreeMap;

use super::graph::Graph;
use super::xml::Element;

pub(super) fn project(root: &Element, graph: &mut Graph) -> Result<(), String> {
    if root.name != "project" {
        return Err("has no <project> at its top".to_owned());
    }
    let parent = root.child("parent");
    let own = |field: &str| match root.child_text(field) {
        "" => parent.map(|parent| parent.child_text(field)).unwrap_or_default(),
        text => text,
    };
    let mut properties: BTreeMap<String, &str> = ["groupId", "artifactId", "version"]
        .into_iter()
        .flat_map(|field| [(format!("project.{field}"), own(field)), (format!("pom.{field}"), own(field))])
        .collect();
    for property in root.child("properties").iter().flat_map(|properties| &properties.children) {
        properties.insert(property.name.clone(), &property.text);
    }
    let name = |element: &Element| {
        let part = |field| filled(element.child_text(field), &properties);
        format!("{}:{}", part("groupId"), part("artifactId"))
    };
    let managed: BTreeMap<String, String> = root
        .child("dependencyManagement")
        .and_then(|management| management.child("dependencies"))
        .iter()
        .flat_map(|dependencies| &dependencies.children)
        .map(|dependency| (name(dependency), filled(dependency.child_text("version"), &properties)))
        .collect();
    let from = format!("{}:{}", filled(own("groupId"), &properties), filled(own("artifactId"), &properties));
    let from = graph.root(&from, &filled(own("version"), &properties));
    for dependency in root.child("dependencies").iter().flat_map(|dependencies| &dependencies.children) {
        let name = name(dependency);
        let version = match dependency.child_text("version") {
            "" => managed.get(&name).cloned().unwrap_or_default(),
            version => filled(version, &properties),
        };
        let key = graph.add(&name, &version);
        graph.edge(&from, &key);
    }
    Ok(())
}

/// Replaces `${name}`, nested properties up to a few levels; unknown properties stay.
fn filled(text: &str, properties: &BTreeMap<String, &str>) -> String {
    let mut text = text.to_owned();
    for _ in 0..4 {
        let Some((before, rest)) = text.split_once("${") else { break };
        let Some((name, after)) = rest.split_once('}') else { break };
        let Some(value) = properties.get(name) else { break };
        text = format!("{before}{value}{after}");
    }
    text
}
