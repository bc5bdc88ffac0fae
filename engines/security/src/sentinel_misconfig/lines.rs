//! Logical lines of a configuration: without comments, continuation lines joined.

/// Number of the first physical line, from 1, and the text.
pub(super) fn logical(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') || (line.is_empty() && !open) {
            continue;
        }
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part.trim_end(), true));
        match lines.last_mut().filter(|_| open) {
            Some((_, whole)) => {
                whole.push(' ');
                whole.push_str(part);
            }
            None => lines.push((at + 1, part.to_owned())),
        }
        open = goes_on;
    }
    lines
}

pub(super) fn at(line: usize) -> String {
    format!("line {line}")
}
