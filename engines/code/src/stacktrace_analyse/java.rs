//! The JVM's `Throwable.printStackTrace`.

use super::{Frame, Thrown, split};

pub(super) fn read(lines: &[&str]) -> Vec<Thrown> {
    let Some(first) = lines.iter().position(|line| frame(line).is_some()) else { return Vec::new() };
    let mut thrown = vec![header(lines.get(..first).unwrap_or_default())];
    let depth = lines.get(first).map_or(0, |line| indent(line));
    for line in lines.iter().skip(first) {
        if let Some(cause) = line.strip_prefix("Caused by: ") {
            thrown.push(Thrown::new(split(cause)));
        } else if indent(line) > depth {
            // Suppressed exceptions are indented, with their own causes.
        } else if let (Some(frame), Some(last)) = (frame(line), thrown.last_mut()) {
            last.frames.push(frame);
        } else if let Some(cause) = thrown.last_mut().filter(|cause| cause.frames.is_empty()) {
            // Continuation of a multi-line message.
            cause.error.message.push('\n');
            cause.error.message.push_str(line);
        }
    }
    thrown
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The nearest line above the frames that names a class; lines between belong to its message.
fn header(lines: &[&str]) -> Thrown {
    let bare = |line: &str| {
        let line = line
            .trim()
            .strip_prefix("Exception in thread \"")
            .and_then(|rest| rest.split_once("\" "))
            .map_or(line.trim(), |(_, rest)| rest);
        line.strip_prefix("Caused by: ").unwrap_or(line).to_owned()
    };
    let named = |line: &&str| split(&bare(line)).0.contains('.');
    let at = lines.iter().rposition(named).unwrap_or(lines.len().saturating_sub(1));
    let first = lines.get(at).map(|line| bare(line)).unwrap_or_default();
    let mut thrown = Thrown::new(split(&first));
    for more in lines.get(at + 1..).unwrap_or_default() {
        thrown.error.message.push('\n');
        thrown.error.message.push_str(more);
    }
    thrown
}

/// `at java.base/java.lang.Thread.run(Thread.java:829)`.
fn frame(line: &str) -> Option<Frame> {
    let rest = line.trim().strip_prefix("at ")?;
    let (function, place) = rest.split_once('(')?;
    let place = place.split_once(')')?.0;
    let (file, number) = match place.rsplit_once(':') {
        Some((file, number)) => (file, number.parse().ok()?),
        None if matches!(place, "Native Method" | "Unknown Source") => ("", 0),
        None if place.ends_with(".java") || place.ends_with(".kt") => (place, 0),
        None => return None,
    };
    if file.contains(['/', '\\', ':']) {
        return None;
    }
    // The prefix before the last slash is a module and class loader.
    let function = function.rsplit_once('/').map_or(function, |(_, function)| function);
    Some(Frame { function: function.to_owned(), file: file.to_owned(), line: number })
}
