//! CPython's tracebacks (the documentation of `traceback`), chained by `raise ... from` and by handling.

use super::{Frame, Thrown, split};

const HEAD: &str = "Traceback (most recent call last):";

/// Printed from the first cause to the last error; returned in reverse.
pub(super) fn read(lines: &[&str]) -> Vec<Thrown> {
    let group = lines.iter().any(|line| line.contains("Exception Group Traceback"));
    let lines: Vec<&str> = lines.iter().map(|line| if group { inside(line) } else { line }).collect();
    let (mut thrown, mut frames, mut open) = (Vec::new(), Vec::new(), false);
    let mut rest = lines.into_iter().peekable();
    while let Some(line) = rest.next() {
        if line.ends_with(HEAD) {
            (open, frames) = (true, Vec::new());
        } else if let Some(frame) = frame(line) {
            open = true;
            frames.push(frame);
        } else if open && !line.starts_with([' ', '\t']) && !line.is_empty() {
            let (kind, message) = split(line);
            let mut found = Thrown::new((kind, message));
            // A multi-line message ends at an empty line or the next traceback.
            while let Some(more) = rest.next_if(|next| !next.is_empty() && !next.ends_with(HEAD)) {
                found.error.message.push('\n');
                found.error.message.push_str(more);
            }
            found.frames = std::mem::take(&mut frames);
            thrown.push(found);
            open = false;
        }
    }
    // A group is printed before its members.
    if !group {
        thrown.reverse();
    }
    thrown
}

/// Strips the margin around exception groups.
fn inside(line: &str) -> &str {
    let text = line.trim_start();
    match text.strip_prefix("| ").or_else(|| text.strip_prefix("+ ")) {
        Some(rest) => rest,
        None if text.starts_with("+-") || text == "|" => "",
        None => line,
    }
}

/// `  File "/app/lib.py", line 7, in f`; a syntax error lacks the last part.
fn frame(line: &str) -> Option<Frame> {
    let rest = line.trim_start().strip_prefix("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let (line, function) = rest.split_once(", in ").unwrap_or((rest, "<module>"));
    Some(Frame { function: function.trim().to_owned(), file: file.to_owned(), line: line.trim().parse().ok()? })
}
