//! Calls in a text as it is generated, piece by piece.
//!
//! The text is held to the grammar of this folder, so what follows a trigger is a call of the expected form.

use super::{AFTER_NAME, BEFORE_NAME, OPEN};
use crate::stop::overlap;

/// Where a call may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Anywhere,
    /// Only as the first thing said: a document may hold the same letters in a string.
    AtStart,
    /// The answer is a call: what it begins with is none of its words.
    Certain,
}

/// What was heard, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    Text(String),
    /// A call of the tool of this name begins.
    Begin(String),
    /// More of its arguments' JSON text.
    Arguments(String),
    /// Its arguments are whole.
    End,
}

/// Tells text from calls. Held back: what may be the beginning of a trigger, and space before it.
#[derive(Debug)]
pub(crate) struct CallParser {
    state: State,
    held: String,
    calls: u32,
    most: u32,
}

#[derive(Debug)]
enum State {
    Text(Trigger),
    /// Text to the end.
    Plain,
    /// After the trigger, up to the arguments.
    Head,
    Arguments(Scan),
    /// After the arguments, up to the next trigger.
    Tail,
}

impl CallParser {
    /// For an answer of at most `most` calls.
    pub(crate) fn new(trigger: Trigger, most: u32) -> Self {
        Self { state: State::Text(trigger), held: String::new(), calls: 0, most }
    }

    /// Whether all calls that may be made are whole: what can follow says nothing.
    pub(crate) fn is_over(&self) -> bool {
        self.calls >= self.most
    }

    /// Whether there are calls, all of them whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.calls > 0 && matches!(self.state, State::Tail)
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<Heard> {
        self.held.push_str(text);
        let mut heard = Vec::new();
        while !self.is_over() && self.step(&mut heard) {}
        heard
    }

    /// What was held back as text, now that nothing more comes.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let held = std::mem::take(&mut self.held);
        let is_text = matches!(self.state, State::Text(Trigger::Anywhere | Trigger::AtStart) | State::Plain);
        (is_text && !held.is_empty()).then_some(held)
    }

    /// `true` where the state changed, and with it perhaps what the rest means.
    fn step(&mut self, heard: &mut Vec<Heard>) -> bool {
        match &mut self.state {
            State::Text(Trigger::Anywhere) => self.text(heard),
            State::Text(Trigger::AtStart | Trigger::Certain) => self.start(),
            State::Plain => {
                self.say_text(self.held.len(), heard);
                false
            }
            State::Head => self.head(heard),
            State::Arguments(scan) => {
                let end = scan.end(&self.held);
                let arguments = self.take(end.unwrap_or(self.held.len()));
                if !arguments.is_empty() {
                    heard.push(Heard::Arguments(arguments));
                }
                if end.is_some() {
                    heard.push(Heard::End);
                    self.calls += 1;
                    self.state = State::Tail;
                }
                end.is_some()
            }
            State::Tail => self.trigger_at(self.held.find(OPEN)),
        }
    }

    fn text(&mut self, heard: &mut Vec<Heard>) -> bool {
        let trigger = self.held.find(OPEN);
        let end = trigger.unwrap_or_else(|| self.held.len() - overlap(&self.held, OPEN));
        // The template puts a line's end between words and a call.
        let words = self.held.get(..end).map_or(0, |text| text.trim_end().len());
        self.say_text(words, heard);
        self.trigger_at(trigger.map(|at| at - words))
    }

    fn start(&mut self) -> bool {
        let said = self.held.trim_start();
        if said.starts_with(OPEN) {
            return self.trigger_at(self.held.find(OPEN));
        }
        let undecided = OPEN.starts_with(said);
        if !undecided {
            self.state = State::Plain;
        }
        !undecided
    }

    fn trigger_at(&mut self, at: Option<usize>) -> bool {
        if let Some(at) = at {
            self.held.drain(..at + OPEN.len());
            self.state = State::Head;
        }
        at.is_some()
    }

    fn head(&mut self, heard: &mut Vec<Heard>) -> bool {
        let named = self.held.strip_prefix(BEFORE_NAME).and_then(|named| named.split_once(AFTER_NAME));
        let Some((name, rest)) = named else { return false };
        heard.push(Heard::Begin(name.to_owned()));
        self.held = rest.to_owned();
        self.state = State::Arguments(Scan::default());
        true
    }

    fn say_text(&mut self, bytes: usize, heard: &mut Vec<Heard>) {
        if bytes > 0 {
            let text = self.take(bytes);
            heard.push(Heard::Text(text));
        }
    }

    fn take(&mut self, bytes: usize) -> String {
        let rest = self.held.split_off(bytes);
        std::mem::replace(&mut self.held, rest)
    }
}

/// Finds the end of a JSON object that is known to be one.
#[derive(Debug, Default)]
struct Scan {
    depth: u32,
    in_string: InString,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum InString {
    #[default]
    No,
    Yes,
    Escaped,
}

impl Scan {
    /// Bytes up to the end of the value, where it is in this further piece.
    fn end(&mut self, text: &str) -> Option<usize> {
        for (at, byte) in text.bytes().enumerate() {
            match (&self.in_string, byte) {
                (InString::Escaped, _) => self.in_string = InString::Yes,
                (InString::Yes, b'\\') => self.in_string = InString::Escaped,
                (InString::Yes, b'"') => self.in_string = InString::No,
                (InString::Yes, _) => {}
                (InString::No, b'"') => self.in_string = InString::Yes,
                (InString::No, b'{' | b'[') => self.depth += 1,
                // A value that is neither object nor list ends where the call does.
                (InString::No, b'}' | b']') if self.depth == 0 => return Some(at),
                (InString::No, b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                (InString::No, _) => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(name: &str, arguments: &str) -> String {
        format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
    }

    /// Everything heard, with neighbours of one kind joined.
    fn hear(trigger: Trigger, most: u32, pieces: &[&str]) -> (Vec<Heard>, bool) {
        let mut parser = CallParser::new(trigger, most);
        let mut all: Vec<Heard> = Vec::new();
        let mut add = |heard: Heard| match (all.last_mut(), heard) {
            (Some(Heard::Text(text)), Heard::Text(more)) => text.push_str(&more),
            (Some(Heard::Arguments(text)), Heard::Arguments(more)) => text.push_str(&more),
            (_, heard) => all.push(heard),
        };
        for piece in pieces {
            parser.push(piece).into_iter().for_each(&mut add);
        }
        parser.finish().map(Heard::Text).into_iter().for_each(&mut add);
        (all, parser.is_whole())
    }

    fn text(text: &str) -> Heard {
        Heard::Text(text.to_owned())
    }

    fn heard_call(name: &str, arguments: &str) -> [Heard; 3] {
        [Heard::Begin(name.to_owned()), Heard::Arguments(arguments.to_owned()), Heard::End]
    }

    #[test]
    fn words_and_two_calls() {
        let said = format!("Let me look.\n{}\n{}", call("f", "{\"a\": \"}\\\"{\"}"), call("g", "{}"));
        let expected = [&[text("Let me look.")][..], &heard_call("f", "{\"a\": \"}\\\"{\"}"), &heard_call("g", "{}")];
        assert_eq!(hear(Trigger::Anywhere, 4, &[&said]), (expected.concat(), true));
    }

    #[test]
    fn a_false_start_is_text_after_all() {
        assert_eq!(hear(Trigger::Anywhere, 4, &["a <tool", "s> b <tool_"]), (vec![text("a <tools> b <tool_")], false));
        assert_eq!(hear(Trigger::AtStart, 4, &[" <tool", "s>"]), (vec![text(" <tools>")], false));
    }

    #[test]
    fn a_document_may_hold_the_trigger() {
        let document = "{\"a\": \"<tool_call>\"}";
        assert_eq!(hear(Trigger::AtStart, 4, &[document]), (vec![text(document)], false));
        let (heard, _) = hear(Trigger::AtStart, 4, &[&call("f", "{}")]);
        assert_eq!(heard, heard_call("f", "{}"));
    }

    #[test]
    fn a_cut_call_is_told_as_far_as_it_came() {
        let (heard, whole) = hear(Trigger::Anywhere, 4, &["<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1"]);
        assert_eq!(heard, [Heard::Begin("f".to_owned()), Heard::Arguments("{\"a\": [1".to_owned())]);
        assert!(!whole);
        assert_eq!(hear(Trigger::Anywhere, 4, &["<tool_call>\n{\"na"]), (vec![], false));
        assert_eq!(hear(Trigger::Certain, 4, &["<tool_"]), (vec![], false));
    }

    #[test]
    fn the_last_call_ends_the_answer_with_its_arguments() {
        let mut parser = CallParser::new(Trigger::AtStart, 1);
        parser.push("<tool_call>\n{\"name\": \"f\", \"arguments\": {");
        assert!(!parser.is_over());
        parser.push("}");
        assert!(parser.is_over() && parser.is_whole());
    }

    fn words() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", " ", "\n", "<", "<tool", "<tool_call", ">", "é"]), 0..8)
            .prop_map(|words| words.concat())
            .prop_filter("is text", |words| !words.contains(OPEN))
    }

    fn arguments() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "{}",
            r#"{"a": 1}"#,
            r#"{"}": "\\\\"}"#,
            r#"{"a\"{": ["é", {"b": []}], "c": "<tool_call>"}"#,
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn pieces_do_not_matter_and_no_marker_is_text(
            before in words(),
            calls in prop::collection::vec(("[a-z]{1,4}", arguments()), 0..3),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let made: Vec<String> = calls.iter().map(|(name, arguments)| call(name, arguments)).collect();
            let said = if made.is_empty() { before.clone() } else { format!("{before}\n{}", made.join("\n")) };
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(said.len() + 1)).collect();
            cuts.extend([0, said.len()]);
            cuts.retain(|at| said.is_char_boundary(*at));
            cuts.sort_unstable();
            let pieces: Vec<&str> = cuts.windows(2).map(|cut| &said[cut[0]..cut[1]]).collect();
            let (heard, whole) = hear(Trigger::Anywhere, 4, &pieces);
            let spoken = if made.is_empty() { before.as_str() } else { before.trim_end() };
            let mut expected: Vec<Heard> = Vec::new();
            if !spoken.is_empty() {
                expected.push(text(spoken));
            }
            expected.extend(calls.iter().flat_map(|(name, arguments)| heard_call(name, arguments)));
            prop_assert_eq!(heard, expected);
            prop_assert_eq!(whole, !calls.is_empty());
        }
    }
}
