//! Server-sent events of providers.

use std::collections::VecDeque;

use bytes::Bytes;
use muster_providers::{EventTooLarge, SseEvent, SseParser};

use crate::campaign::{chunks, fuzz};

const LIMIT: usize = 512;

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<SseEvent>, Result<(), EventTooLarge>) {
    let (mut parser, mut events) = (SseParser::new(LIMIT), VecDeque::new());
    let read = pieces.into_iter().try_for_each(|piece| parser.push(&Bytes::copy_from_slice(piece), &mut events));
    (events.into(), read)
}

/// The events do not depend on how the bytes arrive, and none is larger than the limit. A byte that is no UTF-8 becomes
/// U+FFFD, which is three.
#[test]
fn server_sent_events() {
    let words = ["data:", "data: ", "event: ", "id: 1", "retry: 5", "\n\n", "\r\n", "\r", "\u{feff}", ": c", "[DONE]"];
    fuzz("server_sent_events", &words, |input| {
        let whole = read([input]);
        assert_eq!(whole, read(chunks(input)), "the result depends on the chunks");
        for event in &whole.0 {
            assert!(event.data.len() <= 3 * LIMIT && event.kind.len() <= 3 * LIMIT);
            assert!(!event.kind.contains(['\n', '\r']) && !event.data.contains('\r') && !event.kind.is_empty());
        }
        format!("{} {} {}", whole.0.len().min(9), whole.1.is_ok(), whole.0.iter().any(|event| event.kind != "message"))
    });
}
