//! Own frames, culprit frame and fingerprint of a report.

use super::{Frame, Innermost, Thrown};

/// Maximum number of frames in the fingerprint.
const MAX_GROUPED: usize = 20;
/// Path parts of third-party code.
const FOREIGN_FILES: [&str; 17] = [
    "site-packages/",
    "dist-packages/",
    "/lib/python",
    "<frozen ",
    "<string>",
    "node_modules/",
    "node:",
    "internal/",
    "<anonymous>",
    "native",
    "/rustc/",
    "/.cargo/",
    "/library/std/",
    "/go/src/runtime/",
    "/pkg/mod/",
    "/usr/lib/",
    "/usr/local/go/",
];
/// Name prefixes of runtimes and standard libraries.
const FOREIGN_NAMES: [&str; 36] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "scala.",
    "org.junit.",
    "org.springframework.",
    "org.hibernate.",
    "org.apache.",
    "org.postgresql.",
    "org.eclipse.jetty.",
    "org.slf4j.",
    "com.fasterxml.",
    "com.google.common.",
    "com.mysql.",
    "com.zaxxer.",
    "io.netty.",
    "io.micrometer.",
    "okhttp3.",
    "reactor.",
    "System.",
    "Microsoft.",
    "std::",
    "core::",
    "alloc::",
    "<core::",
    "<alloc::",
    "<std::",
    "rust_begin_unwind",
    "__rust",
    "runtime.",
    "testing.",
    "reflect.",
    "panic",
];

/// Decides which frames are the caller's own.
pub(super) struct Own<'i>(&'i [String]);

impl<'i> Own<'i> {
    pub(super) fn new(prefixes: &'i [String]) -> Self {
        Self(prefixes)
    }

    pub(super) fn is(&self, frame: &Frame) -> bool {
        if self.0.iter().any(|prefix| !prefix.is_empty()) {
            let begins =
                |text: &str| self.0.iter().any(|prefix| !prefix.is_empty() && text.starts_with(prefix.as_str()));
            return begins(&frame.file) || begins(frame.file.trim_start_matches("./")) || begins(&frame.function);
        }
        let file = frame.file.replace('\\', "/");
        let foreign = FOREIGN_FILES.iter().any(|part| file.contains(part))
            || FOREIGN_NAMES.iter().any(|name| frame.function.starts_with(name))
            || frame.function.is_empty();
        !foreign && (!file.is_empty() || frame.function.contains(['.', ':']))
    }
}

/// `function (file:line)` of the innermost own frame, searched from the root cause outwards.
pub(super) fn culprit(thrown: &[Thrown], own: &Own<'_>, innermost: Innermost) -> Option<String> {
    let frame = thrown.iter().rev().find_map(|thrown| match innermost {
        Innermost::First => thrown.frames.iter().find(|frame| own.is(frame)),
        Innermost::Last => thrown.frames.iter().rfind(|frame| own.is(frame)),
    })?;
    Some(match (frame.file.as_str(), frame.line) {
        ("", _) => frame.function.clone(),
        (file, 0) => format!("{} ({file})", frame.function),
        (file, line) => format!("{} ({file}:{line})", frame.function),
    })
}

/// BLAKE3 in hexadecimal of the types and own frames, without what varies between runs and builds: line numbers,
/// folders, addresses, counters. Without own frames all frames count, without frames the message.
pub(super) fn fingerprint(language: &str, thrown: &[Thrown], own: &Own<'_>) -> String {
    let mut parts = vec![language.to_owned()];
    parts.extend(thrown.iter().map(|thrown| thrown.error.kind.clone()));
    let all: Vec<&Frame> = thrown.iter().flat_map(|thrown| &thrown.frames).collect();
    let mine: Vec<&Frame> = all.iter().copied().filter(|frame| own.is(frame)).collect();
    let frames = if mine.is_empty() { all } else { mine };
    if frames.is_empty() {
        parts.extend(thrown.iter().map(|thrown| steady(&thrown.error.message)));
    }
    let mut grouped: Vec<String> = frames
        .into_iter()
        .map(|frame| {
            let file = frame.file.rsplit(['/', '\\']).next().unwrap_or_default();
            format!("{} {}", steady(&frame.function), steady(file))
        })
        .collect();
    // The depth of a recursion is incidental.
    grouped.dedup();
    parts.extend(grouped.into_iter().take(MAX_GROUPED));
    blake3::hash(parts.join("\n").as_bytes()).to_hex().to_string()
}

/// Drops words that contain numbers: addresses, hashes, counters, versions, UUIDs. `f1` is kept.
fn steady(text: &str) -> String {
    let mut steady = String::with_capacity(text.len());
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let hex = word.len() >= 6
            && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            && word.bytes().any(|b| b.is_ascii_digit());
        let mangled =
            word.len() == 17 && word.strip_prefix('h').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
        let address = word.starts_with("0x");
        if !(hex || mangled || address) {
            steady.extend(word.chars().filter(|c| !c.is_ascii_digit()));
        }
        steady.extend(part.chars().skip(word.chars().count()));
    }
    steady
}
