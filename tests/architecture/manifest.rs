//! What a Cargo.toml says of dependencies and lints, read line by line: the few forms that this workspace uses.

/// A direct dependency, under the name that code calls it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) dev: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) is_package: bool,
    pub(crate) workspace_lints: bool,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) members: Vec<String>,
}

pub(crate) fn parse(text: &str) -> Manifest {
    let mut manifest = Manifest::default();
    let mut section = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = title.split('.').map(|part| part.trim_matches(['"', '\'', ' ']).to_owned()).collect();
            manifest.is_package |= section == ["package"];
            manifest.note_table(&section, number + 1);
        } else if let Some((key, value)) = line.split_once('=') {
            manifest.note_entry(&section, key.trim(), value.trim(), number + 1);
        }
    }
    manifest
}

impl Manifest {
    /// `[dependencies.name]`
    fn note_table(&mut self, section: &[String], line: usize) {
        if let [.., kind, name] = section
            && kind.ends_with("dependencies")
        {
            self.note(kind, name, line);
        }
    }

    fn note_entry(&mut self, section: &[String], key: &str, value: &str, line: usize) {
        let owner: Vec<&str> = section.iter().map(String::as_str).collect();
        match owner.as_slice() {
            ["lints"] if key == "workspace" && value == "true" => self.workspace_lints = true,
            ["workspace"] if key == "members" => self.members = quoted(value),
            // Versions for others to take, not dependencies of anything.
            ["workspace", ..] => {}
            [.., kind] if kind.ends_with("dependencies") => {
                self.note(kind, key.split('.').next().unwrap_or(key), line);
                if let Some((_, renamed)) = value.split_once("package") {
                    quoted(renamed).first().into_iter().for_each(|name| self.note(kind, name, line));
                }
            }
            [.., kind, _] if kind.ends_with("dependencies") && key == "package" => {
                quoted(value).first().into_iter().for_each(|name| self.note(kind, name, line));
            }
            _ => {}
        }
    }

    fn note(&mut self, kind: &str, name: &str, line: usize) {
        let name = name.trim_matches('"').replace('-', "_");
        self.dependencies.push(Dependency { name, line, dev: kind == "dev-dependencies" });
    }
}

fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn without_comment(line: &str) -> &str {
    let mut inside = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => inside = !inside,
            '#' if !inside => return &line[..at],
            _ => {}
        }
    }
    line
}
