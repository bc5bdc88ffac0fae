//! Rust's panics and backtraces (std), and error chains printed by `main` for anyhow and eyre.

use super::{Frame, Thrown, location};

pub(super) fn read(lines: &[&str]) -> Vec<Thrown> {
    let Some(at) = lines.iter().position(|line| line.contains("panicked at ") || line.starts_with("Error: ")) else {
        return Vec::new();
    };
    let (Some(first), rest) = (lines.get(at), lines.get(at + 1..).unwrap_or_default()) else { return Vec::new() };
    let frames = frames(rest);
    let mut thrown = match first.split_once("panicked at ") {
        Some((_, reported)) => panicked(reported, rest),
        // Other languages use this prefix too: it is Rust only with a backtrace or a chain.
        None if !frames.is_empty() || rest.contains(&"Caused by:") => {
            vec![Thrown::new(("Error", first.strip_prefix("Error: ").unwrap_or_default()))]
        }
        None => return Vec::new(),
    };
    if let Some(error) = thrown.first_mut().filter(|_| !frames.is_empty()) {
        error.frames = frames;
    }
    thrown.extend(causes(rest));
    thrown
}

/// `src/main.rs:4:5:` with the message below, or before Rust 1.73 `'message', src/main.rs:4:5`.
fn panicked(reported: &str, rest: &[&str]) -> Vec<Thrown> {
    let old = reported.strip_prefix('\'').and_then(|reported| reported.rsplit_once("', "));
    let (message, place) = match old {
        Some((message, place)) => (message.to_owned(), place),
        None => {
            let end = |line: &&&str| !line.starts_with("stack backtrace:") && !line.starts_with("note: ");
            (rest.iter().take_while(end).copied().collect::<Vec<_>>().join("\n"), reported.trim_end_matches(':'))
        }
    };
    let (file, line) = location(place.trim());
    let mut thrown = Thrown::new(("panic", message.trim()));
    thrown.frames.push(Frame { function: "<unknown>".to_owned(), file, line });
    vec![thrown]
}

/// `  3: path::to::function` and below it `at src/lib.rs:7:9`.
fn frames(lines: &[&str]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    let begun = lines.iter().position(|line| line.trim_start().to_lowercase().starts_with("stack backtrace"));
    for line in lines.iter().skip(begun.map_or(lines.len(), |at| at + 1)) {
        let text = line.trim_start();
        if let Some(place) = text.strip_prefix("at ") {
            if let Some(frame) = frames.last_mut() {
                (frame.file, frame.line) = location(place.trim());
            }
        } else if let Some((number, function)) = text.split_once(": ") {
            if number.parse::<u32>().is_ok() {
                // RUST_BACKTRACE=full prints the address before the name.
                let function = function.split_once(" - ").map_or(function, |(_, name)| name).trim();
                frames.push(Frame { function: function.to_owned(), ..Frame::default() });
            }
        } else if text.starts_with("note: ") {
            break;
        }
    }
    frames
}

/// The list below `Caused by:`, numbered if it has several entries.
fn causes(lines: &[&str]) -> Vec<Thrown> {
    let begun = lines.iter().position(|line| line.trim() == "Caused by:").map_or(lines.len(), |at| at + 1);
    let reported = lines.iter().skip(begun).take_while(|line| line.starts_with(' '));
    let bare = |line: &str| {
        let line = line.trim();
        line.split_once(": ")
            .filter(|(number, _)| number.parse::<u32>().is_ok())
            .map_or(line, |(_, rest)| rest)
            .to_owned()
    };
    reported.map(|line| Thrown::new(("Error", &bare(line)))).collect()
}
