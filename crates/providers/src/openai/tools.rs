//! Assembles the tool calls of one answer from the fragments that servers send.
//!
//! By the specification each fragment has the call's `index`, and the first one has `id` and name. Servers omit the
//! index or the id, number all calls 0, repeat id and name in each fragment, or send a call at once.

use super::wire::WireCall;
use crate::ToolDelta;

/// Maximum number of calls in one answer; OpenAI accepts as many tools.
const MAX_CALLS: usize = 128;

/// The answer has too many tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyCalls;

/// Calls so far, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    /// Index sent by the server.
    index: Option<u32>,
    /// Id sent by the server.
    id: Option<String>,
    has_name: bool,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns what the fragment adds; `None` if nothing. `make_id` generates an id for a call without one, by its
    /// position.
    pub(super) fn accept(
        &mut self,
        piece: WireCall,
        make_id: impl FnOnce(u32) -> String,
    ) -> Result<Option<ToolDelta>, TooManyCalls> {
        let WireCall { index, id, function } = piece;
        let id = id.filter(|id| !id.is_empty());
        let mut function = function.unwrap_or_default();
        let name = function.name.take().filter(|name| !name.is_empty());
        let arguments = function.take_arguments();
        if id.is_none() && name.is_none() && arguments.is_empty() {
            return Ok(None);
        }
        if let Some(place) = self.find(index, id.as_deref(), name.is_some()) {
            return Ok(self.more(place, name, arguments));
        }
        let place = self.known.len();
        if place >= MAX_CALLS {
            return Err(TooManyCalls);
        }
        self.known.push(Known { index, id: id.clone(), has_name: name.is_some() });
        let index = number(place);
        Ok(Some(ToolDelta { index, id: Some(id.unwrap_or_else(|| make_id(index))), name, arguments }))
    }

    /// Returns the call to which a fragment belongs; `None` if it begins a new one.
    fn find(&self, index: Option<u32>, id: Option<&str>, named: bool) -> Option<usize> {
        match (index, id) {
            (Some(_), id) => {
                let place = self.known.iter().rposition(|call| call.index == index)?;
                let other = id.is_some() && self.known.get(place).is_some_and(|call| call.id.as_deref() != id);
                // A known index with a new name: the server numbers all calls alike.
                (!(other && named)).then_some(place)
            }
            (None, Some(_)) => self.known.iter().rposition(|call| call.id.as_deref() == id),
            (None, None) if named => None,
            (None, None) => self.known.len().checked_sub(1),
        }
    }

    fn more(&mut self, place: usize, name: Option<String>, arguments: String) -> Option<ToolDelta> {
        let call = self.known.get_mut(place)?;
        let name = name.filter(|_| !call.has_name);
        call.has_name |= name.is_some();
        let message_contains = name.is_some() || !arguments.is_empty();
        message_contains.then(|| ToolDelta { index: number(place), id: None, name, arguments })
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Calls as `(id, name, arguments)`, assembled from the deltas as a client does it.
    fn added_up(pieces: Value) -> Vec<(String, String, String)> {
        let (mut calls, mut sum) = (Calls::default(), Vec::new());
        for piece in serde_json::from_value::<Vec<WireCall>>(pieces).unwrap() {
            let Some(delta) = calls.accept(piece, |n| format!("made-{n}")).unwrap() else { continue };
            let place = delta.index as usize;
            if place == sum.len() {
                sum.push((delta.id.clone().unwrap(), String::new(), String::new()));
            } else {
                assert_eq!(delta.id, None, "only the first piece brings the identifier");
            }
            sum[place].1.push_str(delta.name.as_deref().unwrap_or_default());
            sum[place].2.push_str(&delta.arguments);
        }
        sum
    }

    #[test]
    fn chunking_does_not_change_the_calls() {
        let piece = |index: Option<u32>, id: Option<&str>, name: Option<&str>, arguments: &str| {
            let mut call = json!({"function": {"arguments": arguments}});
            let mut set = |key: &str, value: Value| call[key] = value;
            index.into_iter().for_each(|n| set("index", n.into()));
            id.into_iter().for_each(|id| set("id", id.into()));
            name.into_iter().for_each(|name| call["function"]["name"] = name.into());
            call
        };
        let (a, b) = (Some("a"), Some("b"));
        let (f, g) = (Some("f"), Some("g"));
        let rows = [
            (
                "by the book, interleaved",
                json!([
                    piece(Some(0), a, f, ""),
                    piece(Some(1), b, g, ""),
                    piece(Some(0), None, None, "{\"x\""),
                    piece(Some(1), None, None, "{}"),
                    piece(Some(0), None, None, ":1}"),
                ]),
            ),
            ("whole", json!([piece(Some(0), a, f, "{\"x\":1}"), piece(Some(1), b, g, "{}")])),
            ("whole, without numbers", json!([piece(None, a, f, "{\"x\":1}"), piece(None, b, g, "{}")])),
            (
                "pieces without numbers",
                json!([
                    piece(None, a, f, "{\"x\""),
                    piece(None, None, None, ":1}"),
                    piece(None, b, g, ""),
                    piece(None, None, None, "{}"),
                ]),
            ),
            ("all numbered 0", json!([piece(Some(0), a, f, "{\"x\":1}"), piece(Some(0), b, g, "{}")])),
            ("numbered from 1", json!([piece(Some(1), a, f, "{\"x\":1}"), piece(Some(2), b, g, "{}")])),
            (
                "repeating identifier and name",
                json!([
                    piece(Some(0), a, f, "{\"x\""),
                    piece(Some(0), a, f, ":1}"),
                    piece(Some(1), b, g, "{}"),
                    piece(Some(1), b, g, ""),
                ]),
            ),
            (
                "an empty identifier later",
                json!([
                    piece(Some(0), a, f, "{\"x\""),
                    piece(Some(0), Some(""), Some(""), ":1}"),
                    piece(Some(1), b, g, "{}"),
                ]),
            ),
        ];
        let text = |t: &str| t.to_owned();
        let expected = [(text("a"), text("f"), text("{\"x\":1}")), (text("b"), text("g"), text("{}"))];
        for (name, pieces) in rows {
            assert_eq!(added_up(pieces), expected, "{name}");
        }
    }

    #[test]
    fn calls_without_an_identifier_get_one() {
        let pieces = json!([
            {"function": {"name": "f", "arguments": {"x": 1}}},
            {"function": {"name": "g", "arguments": "{}"}},
        ]);
        let [first, second] = added_up(pieces).try_into().unwrap();
        assert_eq!((first.0.as_str(), first.2.as_str()), ("made-0", "{\"x\":1}"));
        assert_eq!((second.0.as_str(), second.1.as_str()), ("made-1", "g"));
    }

    #[test]
    fn calls_are_bounded() {
        let mut calls = Calls::default();
        let whole = |n: u32| WireCall { index: Some(n), id: Some(format!("c{n}")), function: None };
        for n in 0..128 {
            assert!(calls.accept(whole(n), |_| String::new()).is_ok());
        }
        assert_eq!(calls.accept(whole(128), |_| String::new()), Err(TooManyCalls));
    }
}
