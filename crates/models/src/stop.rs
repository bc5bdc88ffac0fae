//! Stop sequences: text that may be the beginning of one is held back until it is decided.

/// What to send after a piece of text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Emit {
    /// Continue; the text (perhaps empty) is not part of a stop sequence.
    Text(String),
    /// A stop sequence was found; this is the text before it.
    Stopped(String),
}

/// Searches a stream of text for the first of several stop sequences. Holds back less than the longest of them.
#[derive(Debug)]
pub(crate) struct StopMatcher {
    stops: Vec<String>,
    held: String,
}

impl StopMatcher {
    /// `stops` must not contain an empty string.
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new() }
    }

    pub(crate) fn push(&mut self, text: &str) -> Emit {
        self.held.push_str(text);
        if let Some(at) = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str())).min() {
            self.held.truncate(at);
            return Emit::Stopped(std::mem::take(&mut self.held));
        }
        let keep = self.stops.iter().map(|stop| overlap(&self.held, stop)).max().unwrap_or(0);
        let kept = self.held.split_off(self.held.len() - keep);
        Emit::Text(std::mem::replace(&mut self.held, kept))
    }

    /// Returns the held-back text at the end of the answer.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Returns the length in bytes of the longest suffix of `text` that is a prefix of `stop`.
pub(crate) fn overlap(text: &str, stop: &str) -> usize {
    let starts = stop.char_indices().skip(1).filter_map(|(at, _)| stop.get(..at));
    starts.filter(|start| text.ends_with(start)).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Emit, StopMatcher};

    fn run(stops: &[&str], pieces: &[&str]) -> (String, bool) {
        let mut matcher = StopMatcher::new(stops.iter().map(ToString::to_string).collect());
        let mut sent = String::new();
        for piece in pieces {
            match matcher.push(piece) {
                Emit::Text(text) => sent.push_str(&text),
                Emit::Stopped(text) => return (sent + &text, true),
            }
        }
        sent.push_str(&matcher.finish());
        (sent, false)
    }

    #[test]
    fn stop_sequences_across_chunks_are_never_sent() {
        assert_eq!(run(&["END"], &["one E", "N", "D two"]), ("one ".to_owned(), true));
    }

    #[test]
    fn an_incomplete_stop_sequence_is_sent() {
        assert_eq!(run(&["END"], &["one EN", "JOY"]), ("one ENJOY".to_owned(), false));
        assert_eq!(run(&["aab"], &["aa", "ab"]), ("a".to_owned(), true));
    }

    #[test]
    fn the_earliest_stop_sequence_ends_the_text() {
        assert_eq!(run(&["three", "two"], &["one two three"]), ("one ".to_owned(), true));
    }

    #[test]
    fn text_that_cannot_start_a_stop_sequence_is_sent_at_once() {
        let mut matcher = StopMatcher::new(vec!["\n\n".to_owned()]);
        assert_eq!(matcher.push("hello\n"), Emit::Text("hello".to_owned()));
        assert_eq!(matcher.push("x"), Emit::Text("\nx".to_owned()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn pieces_do_not_matter(
            pieces in prop::collection::vec("[abé]{0,3}", 0..10),
            stops in prop::collection::vec("[abé]{1,4}", 0..3),
        ) {
            let whole = pieces.concat();
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (sent, stopped) = run(&stops, &pieces);
            // Expected: the text before the stop sequence that completes first, otherwise all of it.
            let ends = (0..=whole.len()).filter(|&at| whole.is_char_boundary(at));
            let first = ends.into_iter().find(|&end| stops.iter().any(|stop| whole[..end].ends_with(stop)));
            prop_assert_eq!(stopped, first.is_some());
            match first {
                None => prop_assert_eq!(sent, whole),
                Some(_) => {
                    prop_assert!(whole.starts_with(&sent));
                    prop_assert!(stops.iter().all(|stop| !sent.contains(stop)));
                    prop_assert!(stops.iter().any(|stop| whole[sent.len()..].starts_with(stop)));
                }
            }
        }
    }
}
