//! What a stream has delivered, kept to be counted: only where its provider gives no figures, or it broke.

use muster_providers::Delta;

use super::meter::Meter;

/// What is kept is counted and let go in pieces of this size, so that a long answer is not kept twice.
const PIECE: usize = 64 * 1024;

/// Delivered text. An event costs no more than a copy of its bytes: what came escaped stays so until it is counted.
#[derive(Default)]
pub(super) struct Delivered {
    text: String,
    /// Still escaped as in JSON, behind the opening quote.
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

    /// Tokens of all that was delivered.
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

/// The text; as it stands, where it is no JSON string: it was delivered, and is counted.
fn unescaped(escaped: &mut Vec<u8>) -> String {
    if escaped.is_empty() {
        return String::new();
    }
    escaped.push(b'"');
    serde_json::from_slice(escaped).unwrap_or_else(|_| String::from_utf8_lossy(escaped).into_owned())
}
