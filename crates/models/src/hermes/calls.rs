//! Incremental parser of tool calls in generated text.
//!
//! The text conforms to the grammar of this module, so what follows a trigger is a call of the expected form.

use super::{AFTER_NAME, BEFORE_NAME, OPEN};
use crate::stop::overlap;

/// Where a call may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Anywhere,
    /// Only at the very beginning: a JSON document may contain the same characters in a string.
    AtStart,
    /// The answer is a call; it begins with the trigger.
    Certain,
}

/// Parsed events, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallEvent {
    Text(String),
    /// A call of the named tool begins.
    Begin(String),
    /// More of its arguments' JSON text.
    Arguments(String),
    /// Its arguments are complete.
    End,
}

/// Separates text from calls. A possible beginning of a trigger, and white space before it, is held back.
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
    /// Text until the end.
    Plain,
    /// After the trigger, before the arguments.
    Head,
    Arguments(Scan),
    /// After the arguments, before the next trigger.
    Tail,
}

impl CallParser {
    /// Parses an answer of at most `most` calls.
    pub(crate) fn new(trigger: Trigger, most: u32) -> Self {
        Self { state: State::Text(trigger), held: String::new(), calls: 0, most }
    }

    /// Returns whether all allowed calls are complete, so that nothing else can follow.
    pub(crate) fn is_over(&self) -> bool {
        self.calls >= self.most
    }

    /// Returns whether there are calls and all of them are complete.
    pub(crate) fn is_whole(&self) -> bool {
        self.calls > 0 && matches!(self.state, State::Tail)
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<CallEvent> {
        self.held.push_str(text);
        let mut events = Vec::new();
        while !self.is_over() && self.step(&mut events) {}
        events
    }

    /// Returns the held-back text at the end of the answer.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let held = std::mem::take(&mut self.held);
        let is_text = matches!(self.state, State::Text(Trigger::Anywhere | Trigger::AtStart) | State::Plain);
        (is_text && !held.is_empty()).then_some(held)
    }

    /// Returns `true` if the state changed, in which case the rest is parsed again.
    fn step(&mut self, events: &mut Vec<CallEvent>) -> bool {
        match &mut self.state {
            State::Text(Trigger::Anywhere) => self.text(events),
            State::Text(Trigger::AtStart | Trigger::Certain) => self.start(),
            State::Plain => {
                self.say_text(self.held.len(), events);
                false
            }
            State::Head => self.head(events),
            State::Arguments(scan) => {
                let end = scan.end(&self.held);
                let arguments = self.take(end.unwrap_or(self.held.len()));
                if !arguments.is_empty() {
                    events.push(CallEvent::Arguments(arguments));
                }
                if end.is_some() {
                    events.push(CallEvent::End);
                    self.calls += 1;
                    self.state = State::Tail;
                }
                end.is_some()
            }
            State::Tail => self.trigger_at(self.held.find(OPEN)),
        }
    }

    fn text(&mut self, events: &mut Vec<CallEvent>) -> bool {
        let trigger = self.held.find(OPEN);
        let end = trigger.unwrap_or_else(|| self.held.len() - overlap(&self.held, OPEN));
        // The template puts a line break between text and a call.
        let words = self.held.get(..end).map_or(0, |text| text.trim_end().len());
        self.say_text(words, events);
        self.trigger_at(trigger.map(|at| at - words))
    }

    fn start(&mut self) -> bool {
        let output = self.held.trim_start();
        if output.starts_with(OPEN) {
            return self.trigger_at(self.held.find(OPEN));
        }
        let undecided = OPEN.starts_with(output);
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

    fn head(&mut self, events: &mut Vec<CallEvent>) -> bool {
        let named = self.held.strip_prefix(BEFORE_NAME).and_then(|named| named.split_once(AFTER_NAME));
        let Some((name, rest)) = named else { return false };
        events.push(CallEvent::Begin(name.to_owned()));
        self.held = rest.to_owned();
        self.state = State::Arguments(Scan::default());
        true
    }

    fn say_text(&mut self, bytes: usize, events: &mut Vec<CallEvent>) {
        if bytes > 0 {
            let text = self.take(bytes);
            events.push(CallEvent::Text(text));
        }
    }

    fn take(&mut self, bytes: usize) -> String {
        let rest = self.held.split_off(bytes);
        std::mem::replace(&mut self.held, rest)
    }
}

/// Finds the end of a JSON object.
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
    /// Returns the number of bytes up to the end of the value, if it ends within this chunk.
    fn end(&mut self, text: &str) -> Option<usize> {
        for (at, byte) in text.bytes().enumerate() {
            match (&self.in_string, byte) {
                (InString::Escaped, _) => self.in_string = InString::Yes,
                (InString::Yes, b'\\') => self.in_string = InString::Escaped,
                (InString::Yes, b'"') => self.in_string = InString::No,
                (InString::Yes, _) => {}
                (InString::No, b'"') => self.in_string = InString::Yes,
                (InString::No, b'{' | b'[') => self.depth += 1,
                // A value that is neither object nor list ends with the call.
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

    /// Collects all events, with adjacent ones of the same kind joined.
    fn parse_all(trigger: Trigger, most: u32, pieces: &[&str]) -> (Vec<CallEvent>, bool) {
        let mut parser = CallParser::new(trigger, most);
        let mut all: Vec<CallEvent> = Vec::new();
        let mut add = |events: CallEvent| match (all.last_mut(), events) {
            (Some(CallEvent::Text(text)), CallEvent::Text(more)) => text.push_str(&more),
            (Some(CallEvent::Arguments(text)), CallEvent::Arguments(more)) => text.push_str(&more),
            (_, events) => all.push(events),
        };
        for piece in pieces {
            parser.push(piece).into_iter().for_each(&mut add);
        }
        parser.finish().map(CallEvent::Text).into_iter().for_each(&mut add);
        (all, parser.is_whole())
    }

    fn text(text: &str) -> CallEvent {
        CallEvent::Text(text.to_owned())
    }

    fn heard_call(name: &str, arguments: &str) -> [CallEvent; 3] {
        [CallEvent::Begin(name.to_owned()), CallEvent::Arguments(arguments.to_owned()), CallEvent::End]
    }

    #[test]
    fn words_and_two_calls() {
        let output = format!("Let me look.\n{}\n{}", call("f", "{\"a\": \"}\\\"{\"}"), call("g", "{}"));
        let expected = [&[text("Let me look.")][..], &heard_call("f", "{\"a\": \"}\\\"{\"}"), &heard_call("g", "{}")];
        assert_eq!(parse_all(Trigger::Anywhere, 4, &[&output]), (expected.concat(), true));
    }

    #[test]
    fn an_incomplete_marker_is_emitted_as_text() {
        assert_eq!(
            parse_all(Trigger::Anywhere, 4, &["a <tool", "s> b <tool_"]),
            (vec![text("a <tools> b <tool_")], false)
        );
        assert_eq!(parse_all(Trigger::AtStart, 4, &[" <tool", "s>"]), (vec![text(" <tools>")], false));
    }

    #[test]
    fn documents_may_contain_the_trigger() {
        let document = "{\"a\": \"<tool_call>\"}";
        assert_eq!(parse_all(Trigger::AtStart, 4, &[document]), (vec![text(document)], false));
        let (events, _) = parse_all(Trigger::AtStart, 4, &[&call("f", "{}")]);
        assert_eq!(events, heard_call("f", "{}"));
    }

    #[test]
    fn truncated_calls_are_reported_as_far_as_generated() {
        let (events, whole) =
            parse_all(Trigger::Anywhere, 4, &["<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1"]);
        assert_eq!(events, [CallEvent::Begin("f".to_owned()), CallEvent::Arguments("{\"a\": [1".to_owned())]);
        assert!(!whole);
        assert_eq!(parse_all(Trigger::Anywhere, 4, &["<tool_call>\n{\"na"]), (vec![], false));
        assert_eq!(parse_all(Trigger::Certain, 4, &["<tool_"]), (vec![], false));
    }

    #[test]
    fn the_answer_ends_with_the_arguments_of_the_last_call() {
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
        fn chunking_does_not_change_the_result_and_markers_are_not_text(
            before in words(),
            calls in prop::collection::vec(("[a-z]{1,4}", arguments()), 0..3),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let made: Vec<String> = calls.iter().map(|(name, arguments)| call(name, arguments)).collect();
            let output = if made.is_empty() { before.clone() } else { format!("{before}\n{}", made.join("\n")) };
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(output.len() + 1)).collect();
            cuts.extend([0, output.len()]);
            cuts.retain(|at| output.is_char_boundary(*at));
            cuts.sort_unstable();
            let pieces: Vec<&str> = cuts.windows(2).map(|cut| &output[cut[0]..cut[1]]).collect();
            let (events, whole) = parse_all(Trigger::Anywhere, 4, &pieces);
            let spoken = if made.is_empty() { before.as_str() } else { before.trim_end() };
            let mut expected: Vec<CallEvent> = Vec::new();
            if !spoken.is_empty() {
                expected.push(text(spoken));
            }
            expected.extend(calls.iter().flat_map(|(name, arguments)| heard_call(name, arguments)));
            prop_assert_eq!(events, expected);
            prop_assert_eq!(whole, !calls.is_empty());
        }
    }
}
