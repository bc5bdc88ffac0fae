//! The parser of event streams against the examples of its standard, and against every way to cut the bytes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

use std::collections::VecDeque;

use bytes::Bytes;
use muster_providers::{EventTooLarge, SseEvent, SseParser};
use proptest::prelude::*;

fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<SseEvent>, EventTooLarge> {
    let mut parser = SseParser::default();
    let mut events = VecDeque::new();
    for chunk in chunks {
        parser.push(&Bytes::copy_from_slice(chunk), &mut events)?;
    }
    Ok(events.into())
}

fn event(kind: &str, data: &str) -> SseEvent {
    SseEvent { kind: kind.into(), data: data.into() }
}

fn messages(all: &[&str]) -> Vec<SseEvent> {
    all.iter().map(|data| event("message", data)).collect()
}

/// WHATWG HTML, 9.2.6 "Interpreting an event stream" and the introduction of 9.2: the examples and what the text says
/// of them.
#[test]
fn examples_of_the_standard_are_parsed() {
    let rows: [(&str, Vec<SseEvent>); 5] = [
        ("data: YHOO\ndata: +2\ndata: 10\n\n", messages(&["YHOO\n+2\n10"])),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            messages(&["first event", "second event", " third event"]),
        ),
        ("data\n\ndata\ndata\n\ndata:", messages(&["", "\n"])),
        ("data:test\n\ndata: test\n\n", messages(&["test", "test"])),
        (
            "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
            vec![event("add", "73857293"), event("remove", "2153"), event("add", "113411")],
        ),
    ];
    for (stream, expected) in rows {
        for ending in ["\n", "\r\n", "\r"] {
            let stream = stream.replace('\n', ending);
            assert_eq!(parse([stream.as_bytes()]).unwrap(), expected, "{stream:?}");
        }
        let with_bom = format!("\u{feff}{stream}");
        assert_eq!(parse([with_bom.as_bytes()]).unwrap(), expected, "with a BOM");
    }
}

/// From the same section: a name without data dispatches nothing and is forgotten, `retry` and unknown fields are read
/// over, only one space and only one BOM are taken away, bytes that are no UTF-8 become U+FFFD.
#[test]
fn the_rules_of_the_standard() {
    let rows: [(&[u8], Vec<SseEvent>); 5] = [
        (b"event: gone\n\ndata: x\n\n", messages(&["x"])),
        (b"retry: 5\nnonsense: y\n\xEF\xBB\xBFdata: z\ndata: x\n\n", messages(&["x"])),
        (b"data:  x: y\n\n", messages(&[" x: y"])),
        (b"data: a\xFFb\n\n", messages(&["a\u{fffd}b"])),
        (b"data: never ended\n", vec![]),
    ];
    for (stream, expected) in rows {
        assert_eq!(parse([stream]).unwrap(), expected, "{:?}", stream.escape_ascii().to_string());
    }
}

#[test]
fn an_event_is_bounded_however_it_grows() {
    for stream in ["data: 0123456789abcdef".to_owned(), "data: 01\n".repeat(9), ": 0123456789abcdef".to_owned()] {
        let mut parser = SseParser::new(16);
        let mut events = VecDeque::new();
        assert_eq!(parser.push(&stream.clone().into(), &mut events), Err(EventTooLarge { limit: 16 }), "{stream}");
    }
    // The bound is of one event, not of the stream.
    let mut parser = SseParser::new(16);
    let mut events = VecDeque::new();
    parser.push(&"data: 0123456\n\n".repeat(100).into(), &mut events).unwrap();
    assert_eq!(events.len(), 100);
}

/// Lines that arrive in one chunk are slices of it; lines across chunks are copied.
#[test]
fn a_whole_line_is_not_copied() {
    let whole = Bytes::from_static(b"event: delta\ndata: {\"x\":1}\n\nevent: e\nda");
    let rest = Bytes::from_static(b"ta: cut\n\n");
    let (mut parser, mut events) = (SseParser::default(), VecDeque::new());
    parser.push(&whole, &mut events).unwrap();
    parser.push(&rest, &mut events).unwrap();
    let lies_in = |text: &str, chunk: &Bytes| chunk.as_ptr_range().contains(&text.as_ptr());
    let [first, second] = [events.pop_front().unwrap(), events.pop_front().unwrap()];
    assert!(lies_in(&first.kind, &whole) && lies_in(&first.data, &whole));
    assert!(lies_in(&second.kind, &whole) && !lies_in(&second.data, &rest));
    assert_eq!((&*second.kind, &*second.data), ("e", "cut"));
}

/// Streams from the pieces that matter: fields, comments, characters of one to four bytes, every line end.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: ".to_owned()),
        Just("data:".to_owned()),
        Just("event: e".to_owned()),
        Just(": comment".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r\n\r\n".to_owned()),
        "[a-zé漢😀 ]{1,4}",
    ];
    prop_oneof![
        4 => proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..80),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_chunking_gives_the_same_events(bytes in stream(), cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12)) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let chunks = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        let whole = parse([bytes.as_slice()]).unwrap();
        prop_assert_eq!(parse(chunks).unwrap(), whole.clone());
        prop_assert_eq!(parse(bytes.chunks(1)).unwrap(), whole);
    }

    /// Encoded events are decoded to the same fields, with any line end.
    #[test]
    fn what_goes_in_comes_out(texts in proptest::collection::vec("[a-zé漢😀 :]{0,12}", 0..8), ending in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]) {
        let stream: String = texts.iter().map(|text| format!("data: {text}{ending}{ending}")).collect();
        let data: Vec<String> = parse([stream.as_bytes()]).unwrap().into_iter().map(|e| e.data.into()).collect();
        prop_assert_eq!(data, texts);
    }
}
