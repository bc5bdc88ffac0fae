//! List-valued elements: values separated by white space, where a value that contains white space is enclosed in double
//! quotes (section 3.2.1, `addresses` and `incidents`), and references written as `sender,identifier,sent`.

use crate::{CapTime, Reference};

/// Splits a list into its values.
pub(crate) fn split(text: &str) -> Vec<String> {
    let (mut values, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let (value, after) = match rest.strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
            Some(quoted) => quoted,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        values.push(value.to_owned());
        rest = after.trim_start();
    }
    values
}

/// Joins values into a list, quoting those that need it.
pub(crate) fn join(values: &[String]) -> String {
    let quoted = |value: &String| {
        let plain = !value.is_empty() && !value.starts_with('"') && !value.contains(char::is_whitespace);
        if plain { value.clone() } else { format!("\"{value}\"") }
    };
    values.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Parses a list of references. The error is the text of the first invalid one.
pub(crate) fn references(text: &str) -> Result<Vec<Reference>, String> {
    text.split_whitespace().map(|triple| reference(triple).ok_or_else(|| triple.to_owned())).collect()
}

fn reference(triple: &str) -> Option<Reference> {
    let mut parts = triple.split(',');
    let (sender, identifier, sent) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || sender.is_empty() || identifier.is_empty() {
        return None;
    }
    Some(Reference { sender: sender.to_owned(), identifier: identifier.to_owned(), sent: CapTime::parse(sent)? })
}

pub(crate) fn join_references(references: &[Reference]) -> String {
    let text = |to: &Reference| format!("{},{},{}", to.sender, to.identifier, to.sent.as_str());
    references.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_spaces_are_quoted() {
        let list = " alpha \"two words\"  gamma ";
        assert_eq!(split(list), ["alpha", "two words", "gamma"]);
        assert_eq!(join(&split(list)), "alpha \"two words\" gamma");
        assert_eq!(split("\"open"), ["\"open"], "a quote that is not closed is a character");
    }
}
