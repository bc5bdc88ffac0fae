//! Converts generated text to events: separates calls from text, and cuts at stop sequences.

use crate::chat::{Finish, GenerateEvent};
use crate::hermes::{CallEvent, CallParser};
use crate::stop::{Emit, StopMatcher};

/// Converts one answer. Stop sequences are searched in text and in arguments, not in the markers around calls.
#[derive(Debug)]
pub(crate) struct AnswerParser {
    calls: Option<CallParser>,
    stops: StopMatcher,
    /// Number of calls begun.
    begun: u32,
    part: Part,
}

/// What the current output belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Words,
    Arguments,
}

impl AnswerParser {
    /// `calls` is set if the answer may contain calls.
    pub(crate) fn new(stops: StopMatcher, calls: Option<CallParser>) -> Self {
        Self { calls, stops, begun: 0, part: Part::Words }
    }

    /// Processes more text. Returns its events, and how the answer ended, if it did.
    pub(crate) fn push(&mut self, text: &str) -> (Vec<GenerateEvent>, Option<Finish>) {
        let calls = match &mut self.calls {
            Some(calls) => calls.push(text),
            None => vec![CallEvent::Text(text.to_owned())],
        };
        let mut events = Vec::new();
        for call in calls {
            let text = match call {
                CallEvent::Text(text) | CallEvent::Arguments(text) => text,
                CallEvent::Begin(name) => {
                    self.flush(&mut events);
                    events.push(GenerateEvent::Call { index: self.begun, name });
                    self.begun += 1;
                    self.part = Part::Arguments;
                    continue;
                }
                CallEvent::End => {
                    self.flush(&mut events);
                    self.part = Part::Words;
                    continue;
                }
            };
            if let Some(finish) = self.speak(&text, &mut events) {
                return (events, Some(finish));
            }
        }
        let over = self.calls.as_ref().is_some_and(CallParser::is_over);
        (events, over.then_some(Finish::ToolCalls))
    }

    /// Ends the answer, by the model (`Stop`) or a limit (`Length`). Returns held-back events and the final reason.
    pub(crate) fn finish(&mut self, finish: Finish) -> (Vec<GenerateEvent>, Finish) {
        let mut events = Vec::new();
        let held = self.calls.as_mut().and_then(CallParser::finish);
        if held.is_some_and(|held| self.speak(&held, &mut events).is_some()) {
            return (events, Finish::Stop);
        }
        self.flush(&mut events);
        let whole = self.calls.as_ref().is_some_and(CallParser::is_whole);
        (events, if whole { Finish::ToolCalls } else { finish })
    }

    fn speak(&mut self, text: &str, events: &mut Vec<GenerateEvent>) -> Option<Finish> {
        match self.stops.push(text) {
            Emit::Text(text) => {
                self.send_events(text, events);
                None
            }
            Emit::Stopped(text) => {
                self.send_events(text, events);
                // Arguments that were cut off must not look complete.
                Some(if self.part == Part::Words { Finish::Stop } else { Finish::Length })
            }
        }
    }

    fn flush(&mut self, events: &mut Vec<GenerateEvent>) {
        let held = self.stops.finish();
        self.send_events(held, events);
    }

    fn send_events(&self, text: String, events: &mut Vec<GenerateEvent>) {
        if !text.is_empty() {
            events.push(match self.part {
                Part::Words => GenerateEvent::Delta(text),
                Part::Arguments => GenerateEvent::Arguments { index: self.begun.saturating_sub(1), json: text },
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hermes::Trigger;

    const CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 12}}\n</tool_call>";

    fn parser(stops: &[&str], most: u32) -> AnswerParser {
        let stops = StopMatcher::new(stops.iter().map(ToString::to_string).collect());
        AnswerParser::new(stops, Some(CallParser::new(Trigger::Anywhere, most)))
    }

    /// Feeds each character separately, then the end.
    fn run(mut parser: AnswerParser, text: &str, end: Finish) -> (String, Vec<(String, String)>, Finish) {
        let (mut words, mut calls): (String, Vec<(String, String)>) = Default::default();
        let mut parse_all = |events: Vec<GenerateEvent>| {
            for event in events {
                match event {
                    GenerateEvent::Delta(text) => words.push_str(&text),
                    GenerateEvent::Call { index, name } => {
                        assert_eq!(index as usize, calls.len());
                        calls.push((name, String::new()));
                    }
                    GenerateEvent::Arguments { index, json } => calls[index as usize].1.push_str(&json),
                    other => panic!("{other:?}"),
                }
            }
        };
        for letter in text.chars() {
            let (events, finish) = parser.push(&letter.to_string());
            parse_all(events);
            if let Some(finish) = finish {
                return (words, calls, finish);
            }
        }
        let (events, finish) = parser.finish(end);
        parse_all(events);
        (words, calls, finish)
    }

    fn made(arguments: &str) -> Vec<(String, String)> {
        vec![("f".to_owned(), arguments.to_owned())]
    }

    #[test]
    fn whole_calls_end_as_calls_whatever_ended_them() {
        for end in [Finish::Stop, Finish::Length] {
            let got = run(parser(&[], 4), &format!("Well.\n{CALL}"), end);
            assert_eq!(got, ("Well.".to_owned(), made("{\"a\": 12}"), Finish::ToolCalls));
        }
        assert_eq!(run(parser(&[], 1), CALL, Finish::Stop), (String::new(), made("{\"a\": 12}"), Finish::ToolCalls));
    }

    #[test]
    fn truncated_calls_are_not_complete() {
        let cut = &CALL[..CALL.find("2}").unwrap()];
        assert_eq!(run(parser(&[], 4), cut, Finish::Length), (String::new(), made("{\"a\": 1"), Finish::Length));
        let stopped = run(parser(&["12"], 4), CALL, Finish::Stop);
        assert_eq!(stopped, (String::new(), made("{\"a\": "), Finish::Length));
    }

    #[test]
    fn stop_sequences_do_not_match_markers() {
        let got = run(parser(&["\n", "name", "tool_call"], 4), CALL, Finish::Stop);
        assert_eq!(got, (String::new(), made("{\"a\": 12}"), Finish::ToolCalls));
        let got = run(parser(&["END"], 4), "one END two", Finish::Stop);
        assert_eq!(got, ("one ".to_owned(), vec![], Finish::Stop));
        // Held back as a possible call until the end, and then found to contain a stop sequence.
        assert_eq!(run(parser(&["tool"], 4), "a <tool", Finish::Stop), ("a <".to_owned(), vec![], Finish::Stop));
    }
}
