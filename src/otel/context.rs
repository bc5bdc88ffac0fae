//! W3C Trace Context, level 1: <https://www.w3.org/TR/trace-context/>.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::http::header::HeaderMap;
use actix_web::{HttpMessage, HttpRequest};

/// The position of a request in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    pub(super) trace: u128,
    /// Identifier of the server's own span.
    pub(super) span: u64,
    /// Identifier of the caller's span.
    pub(super) parent: Option<u64>,
    /// Whether the caller wants the trace recorded; true without a caller.
    pub(super) sampled: bool,
}

/// Converts the identifier of a request's span to that of the chat inside it and back, so that no context must be
/// passed through the chain.
const TURN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Context {
    /// Starts a new span, as a child of the caller's if the request names one.
    pub(super) fn begin(headers: &HeaderMap) -> Self {
        let sent = headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(Self::parse);
        match sent {
            Some(caller) => Self { span: span_id(), parent: Some(caller.span), ..caller },
            None => {
                let trace = u128::from(span_id()) << 64 | u128::from(span_id());
                Self { trace, span: span_id(), parent: None, sampled: true }
            }
        }
    }

    /// Parses a `traceparent`: `00-<32 hex>-<16 hex>-<2 hex>`. A later version may have further fields.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let hex = |part: &str, length: usize| {
            let lower = part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
            (part.len() == length && lower).then_some(())
        };
        hex(version, 2)?;
        hex(trace, 32)?;
        hex(span, 16)?;
        hex(flags, 2)?;
        if version == "ff" || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let (trace, span) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        (trace != 0 && span != 0).then_some(Self { trace, span, parent: None, sampled })
    }

    /// Returns the context of the chat inside this request.
    pub(super) fn chat(self) -> Self {
        Self { span: self.span ^ TURN, parent: Some(self.span), ..self }
    }

    /// Returns the context of the chat that a provider received in this header.
    pub(super) fn of_chat(header: &str) -> Option<Self> {
        let context = Self::parse(header)?;
        Some(Self { parent: Some(context.span ^ TURN), ..context })
    }

    /// Returns a child of this span.
    pub(super) fn child(self) -> Self {
        Self { span: span_id(), parent: Some(self.span), ..self }
    }

    pub(super) fn header(self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Returns the `traceparent` for a provider: the span of the chat if traces are exported, otherwise the caller's
/// header.
pub fn traceparent(request: &HttpRequest) -> Option<String> {
    if let Some(context) = request.extensions().get::<Context>() {
        return Some(context.chat().header());
    }
    request.headers().get("traceparent").and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns a number that no other span has: SplitMix64 (Steele, Lea, Flood 2014) of a counter with a random start in
/// each process.
fn span_id() -> u64 {
    static START: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let start = *START.get_or_init(|| {
        use std::hash::{BuildHasher, RandomState};
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        RandomState::new().hash_one((now, std::process::id()))
    });
    let mut z = start.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the recommendation, section 3.2.
    #[test]
    fn a_traceparent_is_read_and_written() {
        let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let read = Context::parse(sent).unwrap();
        assert_eq!(
            (read.trace, read.span, read.sampled),
            (0x4bf92f3577b34da6a3ce929d0e0e4736, 0x00f067aa0ba902b7, true)
        );
        assert_eq!(read.header(), sent);
        assert!(!Context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00").unwrap().sampled);
        assert!(Context::parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes").is_some());
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert_eq!(Context::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_chat_span_finds_its_request_by_the_header_alone() {
        let request = Context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        let chat = Context::of_chat(&request.chat().header()).unwrap();
        assert_eq!((chat, chat.parent), (request.chat(), Some(request.span)));
        assert_ne!(chat.span, request.span);
    }
}
