//! Encodes a publication as the bytes sent to every subscriber.

use bytes::Bytes;

use muster_core::Millis;
use muster_core::event::{Event, LatestValue};

/// Encodes the frames of an event for each of its channels. The common part is encoded once, and the data is copied
/// without parsing it.
#[derive(Debug)]
pub(super) struct Framer {
    /// The part of the frame from `,"ev":` to the end.
    tail: String,
}

impl Framer {
    pub(super) fn of_event(event: &Event) -> Self {
        Self::new(&event.name, event.at, Some(&event.id), event.data.get())
    }

    pub(super) fn of_latest(value: &LatestValue) -> Self {
        Self::new(&value.name, value.at, None, value.data.get())
    }

    fn new(name: &str, at: Millis, id: Option<&str>, data: &str) -> Self {
        let mut tail = String::with_capacity(data.len() + name.len() + 112);
        tail.push_str(",\"ev\":");
        push_text(&mut tail, name);
        tail.push_str(",\"ts\":\"");
        tail.push_str(&at.rfc3339());
        tail.push('"');
        if let Some(id) = id {
            tail.push_str(",\"eid\":");
            push_text(&mut tail, id);
        }
        tail.push_str(",\"data\":");
        tail.push_str(data);
        tail.push('}');
        Self { tail }
    }

    pub(super) fn on(&self, channel: &str, offset: u64) -> Bytes {
        let mut frame = String::with_capacity(self.tail.len() + channel.len() + 40);
        frame.push_str("{\"ch\":");
        push_text(&mut frame, channel);
        frame.push_str(",\"off\":");
        frame.push_str(&offset.to_string());
        frame.push_str(&self.tail);
        Bytes::from(frame)
    }
}

/// Appends a JSON string.
fn push_text(out: &mut String, text: &str) {
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
    if plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_frame_matches_the_contract() {
        let data = json!({"id": "inc_01J", "version": 8, "patch": {"state": "contained"}});
        let at = Millis::parse_rfc3339("2026-11-21T03:00:01.120Z").unwrap();
        let mut event = Event::new("incident.updated", at, vec!["incidents".to_owned()], &data);
        event.id = "evt_01J".to_owned();
        // Example of contract 5.
        let expected = r#"{"ch":"incidents","off":841,"ev":"incident.updated","ts":"2026-11-21T03:00:01.120Z","eid":"evt_01J","data":{"id":"inc_01J","version":8,"patch":{"state":"contained"}}}"#;
        let frame = Framer::of_event(&event).on("incidents", 841);
        let read = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&frame), read(expected.as_bytes()));
        assert!(frame.starts_with(br#"{"ch":"incidents","off":841,"ev":"incident.updated","ts":"#));
    }

    #[test]
    fn data_is_copied_verbatim_and_names_are_escaped() {
        let mut event = Event::new("a\"b\n", Millis(0), Vec::new(), &1);
        event.data = serde_json::value::RawValue::from_string("{ \"n\" : 1.0e2 }".to_owned()).unwrap();
        let frame = Framer::of_event(&event).on("c", 1);
        let text = std::str::from_utf8(&frame).unwrap();
        assert!(text.ends_with(",\"data\":{ \"n\" : 1.0e2 }}"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(text).unwrap()["ev"], "a\"b\n");
    }
}
