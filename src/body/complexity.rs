//! The structure of a JSON text, counted before anything is built from it.
//!
//! A tree takes a hundred times the memory of the text that it is read from if the text is nothing but brackets. The
//! count needs no memory, and strings are skipped at the speed of `memchr`, so it costs little beside the parser.

use memchr::memchr2;

/// Maximum number of arrays and objects inside each other.
pub const MAX_DEPTH: usize = 64;
/// Maximum number of values.
pub const MAX_VALUES: usize = 200_000;

/// Which bound a text exceeds, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooComplex {
    /// More than [`MAX_DEPTH`] arrays and objects inside each other.
    Deep { at: usize },
    /// More than [`MAX_VALUES`] values.
    Many { at: usize },
}

impl std::fmt::Display for TooComplex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deep { at } => write!(
                f,
                "the body holds more than {MAX_DEPTH} arrays and objects inside each other (at byte {at}): send a flatter one"
            ),
            Self::Many { at } => {
                write!(f, "the body holds more than {MAX_VALUES} values (at byte {at}): split it into several requests")
            }
        }
    }
}

/// Counts depth and values of a JSON text. An empty array or object counts as two values. A text that is not JSON is
/// counted as far as it looks like JSON; the parser rejects it.
///
/// # Errors
/// The text exceeds a bound. It is read no further than that.
pub fn check(json: &[u8]) -> Result<(), TooComplex> {
    let (mut at, mut depth, mut values) = (0, 0_usize, 1_usize);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_string(json, at),
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                if depth > MAX_DEPTH {
                    return Err(TooComplex::Deep { at: at - 1 });
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if values > MAX_VALUES {
            return Err(TooComplex::Many { at: at - 1 });
        }
    }
    Ok(())
}

/// Returns the position after the closing quote of the string that begins at `from`.
fn end_of_string(json: &[u8], mut from: usize) -> usize {
    while let Some(found) = json.get(from..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        let at = from + found;
        if json.get(at) == Some(&b'"') {
            return at + 1;
        }
        // The escaped character, which may be a quote.
        from = at + 2;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn depth_and_values_are_bounded_exactly() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert_eq!(check(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(check(&nested(MAX_DEPTH + 1)), Err(TooComplex::Deep { at: MAX_DEPTH }));
        // The array itself is a value.
        let list = |values: usize| format!("[{}]", vec!["1"; values - 1].join(","));
        assert_eq!(check(list(MAX_VALUES).as_bytes()), Ok(()));
        assert!(matches!(check(list(MAX_VALUES + 1).as_bytes()), Err(TooComplex::Many { .. })));
    }

    #[test]
    fn brackets_and_commas_in_strings_are_text() {
        let brackets = "[{,".repeat(MAX_VALUES);
        for text in [brackets.clone(), format!(r#"\"{brackets}\\"#), r"\\\\\\".to_owned()] {
            let json = format!(r#"{{"a":"{text}","b":[1]}}"#);
            assert!(serde_json::from_str::<Value>(&json).is_ok());
            assert_eq!(check(json.as_bytes()), Ok(()));
        }
        // A string that does not end hides nothing that would be parsed.
        assert_eq!(check(format!("[\"{brackets}").as_bytes()), Ok(()));
        assert_eq!(check(b"\"\\"), Ok(()));
    }

    /// Values of a tree, with an empty array or object as two.
    fn values(value: &Value) -> usize {
        let inner = match value {
            Value::Array(items) => items.iter().map(values).sum::<usize>() + usize::from(items.is_empty()),
            Value::Object(members) => members.values().map(values).sum::<usize>() + usize::from(members.is_empty()),
            _ => 0,
        };
        inner + 1
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<f64>().prop_map(Value::from),
            r#"[\[\]{},:"\\a\n]{0,8}"#.prop_map(Value::from)
        ];
        leaf.prop_recursive(6, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(r#"[\[\]{},:"\\a]{0,4}"#, inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_count_is_that_of_the_tree(value in json()) {
            // Padded to the bound with values of known number, so that the count shows at the bound.
            let own = values(&value);
            let list = |padding: usize| format!("[{}{}]", value, ",0".repeat(padding));
            prop_assert_eq!(check(list(MAX_VALUES - own - 1).as_bytes()), Ok(()));
            prop_assert!(check(list(MAX_VALUES - own).as_bytes()).is_err());
        }
    }
}
