//! Stacks of V8 (its stack trace API), and of Firefox and Safari.

use super::{Frame, Thrown, location, split};

pub(super) fn read(lines: &[&str]) -> Vec<Thrown> {
    let mut thrown: Vec<Thrown> = Vec::new();
    let mut above: Vec<&str> = Vec::new();
    for line in lines {
        if let Some(found) = frame(line) {
            if !above.is_empty() || thrown.is_empty() {
                thrown.push(header(&above));
                above.clear();
            }
            if let Some(last) = thrown.last_mut() {
                last.frames.push(found);
            }
        } else if thrown.is_empty() || line.contains("[cause]: ") {
            above.push(line);
        } else if !above.is_empty() {
            // Continuation of a cause's message.
            above.push(line);
        }
    }
    thrown
}

/// The nearest line above that names an error; lines between belong to its message.
fn header(lines: &[&str]) -> Thrown {
    let named =
        |line: &&str| bare(line).0.ends_with("Error") || line.contains("[cause]: ") || line.contains("Uncaught ");
    let at = lines.iter().rposition(named).unwrap_or(lines.len().saturating_sub(1));
    let mut thrown = Thrown::new(lines.get(at).map(|line| bare(line)).unwrap_or_default());
    for more in lines.get(at + 1..).unwrap_or_default() {
        thrown.error.message.push('\n');
        thrown.error.message.push_str(more);
    }
    thrown.error.message.truncate(thrown.error.message.trim_end().len());
    thrown
}

/// Type and message without decoration by browsers and Node: `Uncaught (in promise)`, `[cause]:`, `[ERR_CODE]`.
fn bare(line: &str) -> (&str, &str) {
    let line = line.split_once("[cause]: ").map_or(line, |(_, rest)| rest).trim();
    let line = line.strip_prefix("Uncaught ").unwrap_or(line);
    let line = line.strip_prefix("(in promise) ").unwrap_or(line);
    if let Some((kind, rest)) = line.split_once(" [")
        && let Some((_, message)) = rest.split_once("]: ")
        && !kind.contains(' ')
    {
        return (kind, message);
    }
    split(line)
}

fn frame(line: &str) -> Option<Frame> {
    let text = line.trim().trim_end_matches(" {");
    match text.strip_prefix("at ") {
        Some(rest) => v8(rest),
        None => gecko(text),
    }
}

/// `async f (file:///app/a.js:10:5)`, `Object.<anonymous> [as g] (/app/b.js:1:1)`, `/app/c.js:5:10`, `Array.map
/// (<anonymous>)`.
fn v8(rest: &str) -> Option<Frame> {
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let (function, place) =
        match rest.rsplit_once(" (").and_then(|(name, place)| Some((name, place.strip_suffix(')')?))) {
            Some((name, place)) => (name.split(" [as ").next().unwrap_or(name), place),
            None => ("<anonymous>", rest),
        };
    let place = place.strip_prefix("file://").unwrap_or(place);
    let placed = columned(place);
    if !placed && !matches!(place, "<anonymous>" | "native") && !place.starts_with("index ") {
        return None;
    }
    let (file, line) = if placed { location(place) } else { (place.to_owned(), 0) };
    Some(Frame { function: function.to_owned(), file, line })
}

/// `f@https://example.org/a.js:10:5`.
fn gecko(text: &str) -> Option<Frame> {
    let (function, place) = text.split_once('@')?;
    let whole = !function.contains(' ') && columned(place) && (place.contains("://") || place.starts_with('/'));
    let (file, line) = location(place);
    let function = if function.is_empty() { "<anonymous>" } else { function };
    whole.then(|| Frame { function: function.to_owned(), file, line })
}

/// Returns whether the text ends with a line and a column.
fn columned(place: &str) -> bool {
    let mut parts = place.rsplitn(3, ':');
    let mut number = || parts.next().is_some_and(|part| part.parse::<u64>().is_ok());
    number() && number() && parts.next().is_some_and(|file| !file.is_empty())
}
