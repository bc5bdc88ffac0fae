//! Text delivered by a stream, kept for token counting. It is only counted when the provider reports no usage or the
//! stream breaks.

use muster_providers::Delta;

use super::meter::Meter;

/// Buffer size in bytes at which delivered text is counted and discarded, so that long answers are not kept in memory.
const PIECE: usize = 64 * 1024;

/// Delivered text. Recording an event costs one copy of its bytes: JSON-escaped text stays escaped until it is counted.
#[derive(Default)]
pub(super) struct Delivered {
    text: String,
    /// JSON-escaped text, starting with the opening quote.
    escaped: Vec<u8>,
    counted: u32,
}

impl Delivered {
    pub(super) fn push(&mut self, delta: &Delta, meter: &Meter) {
        match delta {
            Delta::Text { text, .. } => self.text.push_str(text),
            Delta::Tool { call, .. } => {
                self.text.push_str(call.name.as_deref().unwrap_or_default());
                self.text.push_str(&call.arguments);
            }
            Delta::Verbatim(chunk) => {
                if self.escaped.is_empty() {
                    self.escaped.push(b'"');
                }
                self.escaped.extend_from_slice(&chunk.escaped);
            }
            Delta::Finish { .. } => {}
        }
        if self.text.len() + self.escaped.len() >= PIECE {
            self.count(meter);
        }
    }

    /// Counts the tokens of everything delivered so far.
    pub(super) fn tokens(&mut self, meter: &Meter) -> u32 {
        self.count(meter);
        self.counted
    }

    fn count(&mut self, meter: &Meter) {
        let tokens = meter.text(&self.text).saturating_add(meter.text(&unescaped(&mut self.escaped)));
        self.counted = self.counted.saturating_add(tokens);
        self.text.clear();
        self.escaped.clear();
    }
}

/// Decodes the JSON string. Invalid JSON is returned as it is: it was delivered, so it is counted.
fn unescaped(escaped: &mut Vec<u8>) -> String {
    if escaped.is_empty() {
        return String::new();
    }
    escaped.push(b'"');
    serde_json::from_slice(escaped).unwrap_or_else(|_| String::from_utf8_lossy(escaped).into_owned())
}
