//! .NET's `Exception.ToString`: causes after `--->`; their frames precede those of the errors they caused.

use super::{Frame, Thrown, split};

pub(super) fn read(lines: &[&str]) -> Vec<Thrown> {
    let mut thrown: Vec<Thrown> = Vec::new();
    // Errors whose frames are not complete yet, innermost last.
    let mut open: Vec<usize> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim();
        if let Some(frame) = frame(line) {
            if thrown.is_empty() {
                (thrown, open) = header(lines.get(..at).unwrap_or_default());
            }
            if let Some(place) = open.last().and_then(|place| thrown.get_mut(*place)) {
                place.frames.push(frame);
            }
        } else if text.starts_with("--- End of inner exception") {
            if thrown.is_empty() {
                (thrown, open) = header(lines.get(..at).unwrap_or_default());
            }
            if open.len() > 1 {
                open.pop();
            }
        }
    }
    thrown
}

/// Errors above the first frame, outermost first, on one or several lines.
fn header(lines: &[&str]) -> (Vec<Thrown>, Vec<usize>) {
    let joined = lines.join("\n");
    let reported = joined.rsplit_once("Unhandled exception. ").or_else(|| joined.rsplit_once("Unhandled Exception: "));
    let reported = reported.map_or(joined.as_str(), |(_, reported)| reported).trim();
    let parts = reported.split("---> ").map(|part| Thrown::new(split(part.trim())));
    let thrown: Vec<Thrown> = parts.collect();
    let open = (0..thrown.len()).collect();
    (thrown, open)
}

/// `   at App.Program.Main(String[] args) in /src/Program.cs:line 10`.
fn frame(line: &str) -> Option<Frame> {
    let rest = line.strip_prefix(' ')?.trim_start().strip_prefix("at ")?.trim_end();
    let (call, place) = match rest.split_once(") in ") {
        Some((call, place)) => (call, Some(place)),
        None => (rest.strip_suffix(')')?, None),
    };
    let (function, arguments) = call.split_once('(')?;
    let dotted = function.contains('.') && !function.contains(' ') && !arguments.contains([':', '/', '<']);
    let java = arguments == "Native Method" || arguments == "Unknown Source";
    if !dotted || java || arguments.ends_with(".java") {
        return None;
    }
    let (file, line) = match place.and_then(|place| place.rsplit_once(":line ")) {
        Some((file, line)) => (file, line.parse().ok()?),
        None => (place.unwrap_or_default(), 0),
    };
    Some(Frame { function: function.to_owned(), file: file.to_owned(), line })
}
