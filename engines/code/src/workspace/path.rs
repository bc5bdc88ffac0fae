//! Path parsing.

use std::ffi::OsString;
use std::path::{Component, Path};

use muster_engine::Failure;

/// `PATH_MAX` of Linux, in bytes.
const MAX_PATH: usize = 4_096;
/// `NAME_MAX` of Linux, in bytes.
const MAX_NAME: usize = 255;

/// One step of a path.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Into(OsString),
    /// `..`, which is only allowed in links.
    Up,
    /// To the workspace folder.
    Top,
}

/// Parses a path of the input. It only leads downwards from the workspace folder.
pub(super) fn steps_of_input(path: &str) -> Result<Vec<Step>, Failure> {
    let invalid = |message: &str| Err(Failure::invalid(&["path"], message));
    if path.is_empty() {
        return invalid("is empty: give a path within the workspace folder, such as .");
    }
    if path.contains('\0') {
        return invalid("contains a NUL byte");
    }
    if path.len() > MAX_PATH || path.split('/').any(|name| name.len() > MAX_NAME) {
        return invalid("is too long for a path");
    }
    let mut steps = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => steps.push(Step::Into(name.to_owned())),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Failure::Outside { path: path.to_owned() });
            }
        }
    }
    Ok(steps)
}

/// Parses a link's target; `None` if it is absolute and outside the workspace folder.
pub(super) fn steps_of_link(target: &Path, root: &Path) -> Option<Vec<Step>> {
    let (mut steps, rest) = match target.is_absolute() {
        true => (vec![Step::Top], target.strip_prefix(root).ok()?),
        false => (Vec::new(), target),
    };
    for component in rest.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => steps.push(Step::Into(name.to_owned())),
            Component::ParentDir => steps.push(Step::Up),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(steps)
}
