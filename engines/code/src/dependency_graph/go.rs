//! go.mod (the Go Modules Reference, "go.mod files").

use super::graph::Graph;

pub(super) fn module(text: &str, graph: &mut Graph) -> Result<(), String> {
    let (mut from, mut block, mut requirements, mut replaced) = (None, "", Vec::new(), Vec::new());
    for line in text.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let mut words: Vec<&str> = code.split_whitespace().collect();
        if words.as_slice() == [")"] {
            block = "";
            continue;
        }
        if let [directive, "("] = words.as_slice() {
            block = directive;
            continue;
        }
        let directive = if block.is_empty() && !words.is_empty() { words.remove(0) } else { block };
        match (directive, words.as_slice()) {
            ("module", [name]) => from = Some(graph.root(name.trim_matches('"'), "")),
            ("require", [name, version]) => {
                requirements.push((
                    name.trim_matches('"').to_owned(),
                    (*version).to_owned(),
                    comment.trim() == "indirect",
                ));
            }
            ("replace", words) => {
                let (old, new) = match words {
                    [old, "=>", new @ ..] | [old, _, "=>", new @ ..] => (old, new),
                    _ => return Err(format!("`{}` is not a replacement", code.trim())),
                };
                replaced.push((old.trim_matches('"').to_owned(), new.join("@")));
            }
            _ => {}
        }
    }
    let from = from.ok_or("has no `module`")?;
    for (name, version, indirect) in requirements {
        let instead = replaced.iter().find(|(old, _)| *old == name).map(|(_, new)| new);
        let key = graph.add(&name, instead.unwrap_or(&version));
        // The file does not record which module needs an indirect one.
        if !indirect {
            graph.edge(&from, &key);
        }
    }
    Ok(())
}
