//! q191: crash report parsing and grouping.

mod csharp;
mod go;
mod grouping;
mod java;
mod javascript;
mod python;
mod rust;
#[cfg(test)]
mod tests;

use muster_engine::prelude::*;

const MAX_TEXT: usize = 1024 * 1024;
/// Maximum number of reported frames; an overflowed stack repeats itself.
const MAX_FRAMES: usize = 2_000;

#[derive(Input)]
pub struct Input {
    text: String,
    /// Prefixes of the caller's own files, modules or packages; without any, everything not known to be a library is
    /// own.
    own_prefixes: Vec<String>,
}

#[derive(Output)]
pub struct Output {
    language: &'static str,
    error: Error,
    /// Causes, from the error's direct cause to the root.
    causes: Vec<Error>,
    /// Frames of the error, then of each cause, in printed order.
    frames: Vec<Framed>,
    /// The innermost own frame of the root cause, or of the nearest cause that has one.
    culprit: Option<String>,
    fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Output)]
struct Error {
    #[wire(name = "type")]
    kind: String,
    message: String,
}

#[derive(Output)]
struct Framed {
    function: String,
    file: String,
    /// 0 if the report has none.
    line: u64,
    own: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Frame {
    function: String,
    file: String,
    line: u64,
}

/// One error with its own stack.
#[derive(Debug, Clone, PartialEq)]
struct Thrown {
    error: Error,
    frames: Vec<Frame>,
}

impl Thrown {
    fn new((kind, message): (&str, &str)) -> Self {
        Self { error: Error { kind: kind.to_owned(), message: message.to_owned() }, frames: Vec::new() }
    }
}

/// Position of the innermost frame in a language's traces.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Innermost {
    First,
    Last,
}

/// Reader of a language: returns the error and its causes, down to the root.
type Reader = fn(&[&str]) -> Vec<Thrown>;

const LANGUAGES: [(&str, Reader, Innermost); 6] = [
    ("python", python::read, Innermost::Last),
    ("rust", rust::read, Innermost::First),
    ("java", java::read, Innermost::First),
    ("javascript", javascript::read, Innermost::First),
    ("go", go::read, Innermost::First),
    ("csharp", csharp::read, Innermost::First),
];

/// Whether a line reports an error by the words that programs begin such lines with.
fn names_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    ["error", "fatal", "panic", "exception", "failed"].iter().any(|word| lower.starts_with(word))
        || ["error:", "exception:", "fatal:", "panic:"].iter().any(|word| lower.contains(word))
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.text.len() > MAX_TEXT {
        return Err(Failure::too_large(format!("a crash report has at most {MAX_TEXT} bytes")));
    }
    let lines: Vec<&str> = input.text.lines().collect();
    let (language, innermost, mut thrown) = read(&lines);
    if thrown.is_empty() {
        context.warn("unknown_form: the first line that names an error, else the first, is taken for the error");
        let mut full = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        let first = full.clone().next().unwrap_or_default();
        let line = full.find(|line| names_error(line)).unwrap_or(first);
        thrown.push(Thrown::new(split(line)));
    }
    let own = grouping::Own::new(&input.own_prefixes);
    let culprit = grouping::culprit(&thrown, &own, innermost);
    let fingerprint = grouping::fingerprint(language, &thrown, &own);
    let all: usize = thrown.iter().map(|thrown| thrown.frames.len()).sum();
    if all > MAX_FRAMES {
        context.warn(format!("only the first {MAX_FRAMES} of {all} frames are reported"));
    }
    let frames = thrown.iter().flat_map(|thrown| &thrown.frames).take(MAX_FRAMES).map(|frame| Framed {
        own: own.is(frame),
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
    });
    let frames = frames.collect();
    let mut errors = thrown.into_iter().map(|thrown| thrown.error);
    let error = errors.next().unwrap_or_else(|| Error { kind: String::new(), message: String::new() });
    Ok(Output { language, error, causes: errors.collect(), frames, culprit, fingerprint })
}

/// Returns the language whose grammar finds the most frames.
fn read(lines: &[&str]) -> (&'static str, Innermost, Vec<Thrown>) {
    let mut best = ("unknown", Innermost::First, Vec::new(), 0);
    for (language, reader, innermost) in LANGUAGES {
        let thrown = reader(lines);
        let weight = thrown.iter().map(|thrown| 1 + thrown.frames.len()).sum();
        if weight > best.3 {
            best = (language, innermost, thrown, weight);
        }
    }
    (best.0, best.1, best.2)
}

/// Splits `some.Type: message`, `some.Type`, or a bare message.
fn split(line: &str) -> (&str, &str) {
    let named = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._$:<>`".contains(c));
    match line.split_once(": ") {
        Some((kind, message)) if named(kind) => (kind, message.trim()),
        _ if named(line.trim_end_matches(':')) => (line.trim_end_matches(':'), ""),
        _ => ("", line.trim()),
    }
}

/// `path:line` or `path:line:column`; line 0 if there is none.
fn location(text: &str) -> (String, u64) {
    let number = |text: &str| text.parse::<u64>().ok();
    match text.rsplit_once(':').and_then(|(before, last)| Some((before, number(last)?))) {
        Some((before, last)) => match before.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
            Some((file, line)) => (file.to_owned(), line),
            None => (before.to_owned(), last),
        },
        None => (text.to_owned(), 0),
    }
}
