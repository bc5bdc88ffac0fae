//! The Go runtime's panics and fatal errors.

use super::{Error, Frame, Thrown, location};

/// Reads the panic and the stack of the first goroutine, which is the failed one.
pub(super) fn read(lines: &[&str]) -> Vec<Thrown> {
    let Some(begun) = lines.iter().position(|line| line.starts_with("goroutine ") && line.ends_with(':')) else {
        return Vec::new();
    };
    let mut thrown = errors(lines.get(..begun).unwrap_or_default());
    if thrown.is_empty() {
        thrown.push(Thrown::new(("", "")));
    }
    if let Some(first) = thrown.first_mut() {
        first.frames = frames(lines.get(begun + 1..).unwrap_or_default());
    }
    thrown
}

/// Nested panics are printed from the first to the last.
fn errors(lines: &[&str]) -> Vec<Thrown> {
    let mut thrown: Vec<Thrown> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let reported = text.strip_prefix("panic: ").map(|rest| ("panic", rest));
        let reported = reported.or_else(|| text.strip_prefix("fatal error: ").map(|rest| ("fatal error", rest)));
        match (reported, thrown.last_mut()) {
            (Some((kind, message)), _) => {
                let message = message.split(" [recovered").next().unwrap_or(message);
                let (kind, message) =
                    message.strip_prefix("runtime error: ").map_or((kind, message), |rest| ("runtime error", rest));
                thrown.push(Thrown::new((kind, message.trim())));
            }
            (None, Some(Thrown { error: Error { message, .. }, .. }))
                if !text.is_empty() && !text.starts_with("[signal ") =>
            {
                message.push('\n');
                message.push_str(text);
            }
            _ => {}
        }
    }
    thrown.reverse();
    thrown
}

/// `main.f(0x1)` and below it a tab and `/app/main.go:10 +0x1d`.
fn frames(lines: &[&str]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut function: Option<&str> = None;
    for line in lines.iter().take_while(|line| !line.trim().is_empty()) {
        match (line.strip_prefix('\t'), function) {
            (Some(place), Some(name)) => {
                let (file, line) = location(place.split(" +0x").next().unwrap_or(place).trim());
                frames.push(Frame { function: name.to_owned(), file, line });
                function = None;
            }
            (Some(_), None) => {}
            (None, _) => {
                let name = line
                    .strip_prefix("created by ")
                    .map_or(*line, |rest| rest.split(" in goroutine ").next().unwrap_or(rest));
                // Method names contain brackets: `main.(*T).f(0x1)`.
                function =
                    Some(if name.ends_with(')') { name.rsplit_once('(').map_or(name, |(name, _)| name) } else { name });
            }
        }
    }
    frames
}
