//! WebSocket frames (RFC 6455).

use muster::ws::Close;
use muster::ws::wire::{Inbound, Reader};

use crate::campaign::{chunks, fuzz};

const LIMIT: usize = 1_000;

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Inbound>, Option<Close>) {
    let (mut reader, mut found) = (Reader::new(LIMIT), Vec::new());
    for piece in pieces {
        reader.feed(piece);
        loop {
            match reader.next_message() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(close) => return (found, Some(close)),
            }
        }
    }
    (found, None)
}

/// The messages do not depend on how the bytes arrive, none is larger than the limit, and together they are no longer
/// than the input.
#[test]
fn websocket_frames() {
    fuzz("websocket_frames", &["\u{0}", "\u{1}", "\u{7f}", "\u{7e}", "~"], |input| {
        let whole = read([input]);
        assert_eq!(whole, read(chunks(input)), "the result depends on the chunks");
        let sizes = whole.0.iter().map(|message| match message {
            Inbound::Text(text) => text.len(),
            Inbound::Ping(payload) => {
                assert!(payload.len() <= 125);
                payload.len()
            }
            Inbound::Other | Inbound::Closed(_) => 0,
        });
        let (most, sum) = sizes.fold((0, 0), |(most, sum), size| (size.max(most), sum + size));
        assert!(most <= LIMIT && sum <= input.len());
        let kind = |message: &Inbound| match message {
            Inbound::Text(_) => 't',
            Inbound::Ping(_) => 'p',
            Inbound::Other => 'o',
            Inbound::Closed(_) => 'c',
        };
        let kinds: String = whole.0.iter().map(kind).take(8).collect();
        format!("{kinds} {:?}", whole.1)
    });
}
