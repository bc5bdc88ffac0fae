//! Removes a Markdown code fence around an answer that is to be JSON. Pure; independent of the chunking.

/// Streaming filter; holds back at most what may be part of a fence.
#[derive(Debug, Default)]
pub(super) struct Unfence {
    state: State,
    /// Not emitted yet.
    held: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space and a part of a fence so far.
    #[default]
    Before,
    Inside,
    /// There is no fence: text passes unchanged.
    Bare,
    /// After the closing fence: not part of the answer.
    After,
}

const FENCE: &str = "```";
const FENCE_JSON: &str = "```json";

/// JSON has no raw line break inside a string, so this is never a part of it.
const CLOSING: &str = "\n```";

impl Unfence {
    /// Returns the text that can be emitted after this chunk.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        if self.state == State::Before {
            self.begin();
        }
        match self.state {
            State::Before => String::new(),
            State::Bare => std::mem::take(&mut self.held),
            State::After => {
                self.held.clear();
                String::new()
            }
            State::Inside => {
                if let Some(end) = self.held.find(CLOSING) {
                    self.state = State::After;
                    self.held.truncate(end);
                    let last = std::mem::take(&mut self.held);
                    return last.trim_end().to_owned();
                }
                // White space and backticks at the end may be the closing fence.
                let sure = self.held.trim_end_matches(is_closing).len();
                let rest = self.held.split_off(sure);
                std::mem::replace(&mut self.held, rest)
            }
        }
    }

    /// Returns the rest at the end of the answer.
    pub(super) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Inside => held.split(FENCE).next().unwrap_or_default().trim_end().to_owned(),
            State::Before | State::Bare => held,
            State::After => String::new(),
        }
    }

    fn begin(&mut self) {
        let text = self.held.trim_start();
        if FENCE_JSON.starts_with(text) {
            return;
        }
        let Some(inside) = text.strip_prefix(FENCE_JSON).or_else(|| text.strip_prefix(FENCE)) else {
            self.state = State::Bare;
            return;
        };
        let inside = inside.trim_start();
        if inside.is_empty() {
            return;
        }
        self.held = inside.to_owned();
        self.state = State::Inside;
    }
}

fn is_closing(c: char) -> bool {
    c == '`' || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unfence(pieces: &[&str]) -> String {
        let mut filter = Unfence::default();
        let mut out: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        out.push_str(&filter.finish());
        out
    }

    #[test]
    fn a_fence_is_taken_off_and_nothing_else() {
        for (given, expected) in [
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("```json\n{\"a\": 1}\n```", "{\"a\": 1}"),
            ("\n```\n{\"a\": 1}\n```\n", "{\"a\": 1}"),
            ("```json\n{\"a\": \"`` ` ```\"}\n```", "{\"a\": \"`` ` ```\"}"),
            ("```json\n{\"a\": 1}\n```\n\nAnything else?", "{\"a\": 1}"),
            ("```json\n{\"a\": 1}```", "{\"a\": 1}"),
            ("```json\n{\"a\":", "{\"a\":"),
            ("I cannot.", "I cannot."),
            ("", ""),
            ("``", "``"),
        ] {
            assert_eq!(unfence(&[given]), expected);
        }
    }

    fn pieces(text: &str, cuts: &[usize]) -> Vec<String> {
        let mut cuts: Vec<usize> = cuts.iter().copied().filter(|at| text.is_char_boundary(*at)).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([text.len()]);
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        starts.zip(ends).map(|(from, to)| text[from..to].to_owned()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn chunking_does_not_change_the_result(
            opening in "(```json\n|\n``` |[`json \n]{0,10})?",
            body in "[`json \n{}\"é]{0,20}",
            closing in "(\n```|\n```\nDone!)?",
            cuts in proptest::collection::vec(0_usize..50, 0..6),
        ) {
            let text = format!("{opening}{body}{closing}");
            let pieces = pieces(&text, &cuts);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(unfence(&pieces), unfence(&[&text]));
        }
    }
}
