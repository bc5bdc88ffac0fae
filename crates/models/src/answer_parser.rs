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
        let events = match &mut self.calls {
            Some(calls) => calls.push(text),
            None => vec![CallEvent::Text(text.to_owned())],
        };
        let mut said = Vec::new();
        for events in events {
            let text = match events {
                CallEvent::Text(text) | CallEvent::Arguments(text) => text,
                CallEvent::Begin(name) => {
                    self.flush(&mut said);
                    said.push(GenerateEvent::Call { index: self.begun, name });
                    self.begun += 1;
                    self.part = Part::Arguments;
                    continue;
                }
                CallEvent::End => {
                    self.flush(&mut said);
                    self.part = Part::Words;
                    continue;
                }
            };
            if let Some(finish) = self.speak(&text, &mut said) {
                return (said, Some(finish));
            }
        }
        let over = self.calls.as_ref().is_some_and(CallParser::is_over);
        (said, over.then_some(Finish::ToolCalls))
    }

    /// Ends the answer, by the model (`Stop`) or a limit (`Length`). Returns held-back events and the final reason.
    pub(crate) fn finish(&mut self, finish: Finish) -> (Vec<GenerateEvent>, Finish) {
        let mut said = Vec::new();
        let held = self.calls.as_mut().and_then(CallParser::finish);
        if held.is_some_and(|held| self.speak(&held, &mut said).is_some()) {
            return (said, Finish::Stop);
        }
        self.flush(&mut said);
        let whole = self.calls.as_ref().is_some_and(CallParser::is_whole);
        (said, if whole { Finish::ToolCalls } else { finish })
    }

    fn speak(&mut self, text: &str, said: &mut Vec<GenerateEvent>) -> Option<Finish> {
        match self.stops.push(text) {
            Emit::Text(text) => {
                self.send_events(text, said);
                None
            }
            Emit::Stopped(text) => {
                self.send_events(text, said);
                // Arguments that were cut off must not look complete.
                Some(if self.part == Part::Words { Finish::Stop } else { Finish::Length })
            }
        }
    }

    fn flush(&mut self, said: &mut Vec<GenerateEvent>) {
        let held = self.stops.finish();
        self.send_events(held, said);
    }

    fn send_events(&self, text: String, said: &mut Vec<GenerateEvent>) {
        if !text.is_empty() {
            said.push(match self.part {
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
    fn a_cut_call_is_no_whole_one() {
        let cut = &CALL[..CALL.find("2}").unwrap()];
        assert_eq!(run(parser(&[], 4), cut, Finish::Length), (String::new(), made("{\"a\": 1"), Finish::Length));
        let stopped = run(parser(&["12"], 4), CALL, Finish::Stop);
        assert_eq!(stopped, (String::new(), made("{\"a\": "), Finish::Length));
    }

    #[test]
    fn stops_are_not_looked_for_in_the_marks() {
        let got = run(parser(&["\n", "name", "tool_call"], 4), CALL, Finish::Stop);
        assert_eq!(got, (String::new(), made("{\"a\": 12}"), Finish::ToolCalls));
        let got = run(parser(&["END"], 4), "one END two", Finish::Stop);
        assert_eq!(got, ("one ".to_owned(), vec![], Finish::Stop));
        // Held back as a possible call until the end, and then found to contain a stop sequence.
        assert_eq!(run(parser(&["tool"], 4), "a <tool", Finish::Stop), ("a <".to_owned(), vec![], Finish::Stop));
    }
}
