//! Encodes texts as WebSocket frames or server-sent events. Pure.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use muster_feed::{Position, Publication};
use serde_json::json;

use super::channel::Entry;
#[cfg(test)]
use crate::ws::protocol::HEARTBEAT;
use crate::ws::protocol::outbound;
use crate::ws::{Close, wire};

/// The encoding of a connection.
#[derive(Debug)]
pub enum Framing {
    Socket,
    /// Events with an `id` that contains the client's position in each of its channels.
    Events(Positions),
}

/// Positions, in the order in which the client named its channels.
#[derive(Debug)]
pub struct Positions(Vec<(Arc<str>, Option<Position>)>);

impl Positions {
    pub fn new(channels: impl IntoIterator<Item = (String, Option<Position>)>) -> Self {
        Self(channels.into_iter().map(|(channel, position)| (channel.into(), position)).collect())
    }

    fn set(&mut self, channel: &str, change: impl FnOnce(&mut Option<Position>)) {
        if let Some((_, position)) = self.0.iter_mut().find(|(known, _)| **known == *channel) {
            change(position);
        }
    }

    /// Formats `<epoch>-<offset>` for each channel, separated by commas; an unknown position is empty.
    fn id(&self) -> String {
        let one = |(_, position): &(Arc<str>, Option<Position>)| {
            position.as_ref().map_or_else(String::new, |at| format!("{}-{}", at.epoch, at.offset))
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(",")
    }
}

/// Parses the `id` of an event: a position for each channel.
pub(crate) fn read_positions(id: &str) -> Option<Vec<Option<Position>>> {
    let one = |text: &str| {
        if text.is_empty() {
            return Some(None);
        }
        let (epoch, offset) = text.rsplit_once('-')?;
        Some(Some(Position { epoch: epoch.into(), offset: offset.parse().ok()? }))
    };
    id.split(',').map(one).collect()
}

impl Framing {
    pub(super) fn text(&self, text: &[u8]) -> Bytes {
        match self {
            Self::Socket => wire::framed(text),
            Self::Events(_) => event(None, text),
        }
    }

    pub(super) fn heartbeat(&self) -> Bytes {
        match self {
            // The frame header and the two braces are the same for everyone.
            Self::Socket => Bytes::from_static(&[0x81, 2, b'{', b'}']),
            Self::Events(_) => Bytes::from_static(b":\n\n"),
        }
    }

    pub(super) fn close(&self, close: Close) -> Bytes {
        match self {
            Self::Socket => wire::close(close.code(), close.name()),
            Self::Events(_) => {
                let body = json!({ "code": close.code(), "reason": close.name() }).to_string();
                Bytes::from(format!("event: close\ndata: {body}\n\n"))
            }
        }
    }

    /// Encodes a publication of the channel's ring.
    pub(super) fn entry(&mut self, entry: &Entry) -> Bytes {
        match self {
            Self::Socket => entry.frame.clone(),
            Self::Events(_) => self.publication(&entry.publication),
        }
    }

    /// Encodes a publication for this connection alone.
    pub(super) fn publication(&mut self, publication: &Publication) -> Bytes {
        match self {
            Self::Socket => wire::framed(&publication.json),
            Self::Events(positions) => {
                positions.set(&publication.channel, |at| {
                    if let Some(at) = at {
                        at.offset = publication.offset;
                    }
                });
                event(Some(&positions.id()), &publication.json)
            }
        }
    }

    /// Encodes skipped publications: the position is the last of them.
    pub(super) fn left_out(&mut self, channel: &str, from: u64, to: u64) -> Bytes {
        let text = outbound::conflated(channel, from, to);
        match self {
            Self::Socket => wire::framed(text.as_bytes()),
            Self::Events(positions) => {
                positions.set(channel, |at| {
                    if let Some(at) = at {
                        at.offset = to;
                    }
                });
                event(Some(&positions.id()), text.as_bytes())
            }
        }
    }

    /// Encodes the newest value of a key.
    pub(super) fn value(&mut self, channel: &str, offset: u64, json: &Bytes) -> Bytes {
        match self {
            Self::Socket => wire::framed(json),
            Self::Events(positions) => {
                positions.set(channel, |at| {
                    if let Some(at) = at {
                        at.offset = at.offset.max(offset);
                    }
                });
                event(Some(&positions.id()), json)
            }
        }
    }

    /// Encodes the beginning of a subscription.
    pub(super) fn listens(&mut self, channel: &str, position: &Position) {
        if let Self::Events(positions) = self {
            positions.set(channel, |at| *at = Some(position.clone()));
        }
    }
}

/// Encodes an event; texts of the server are single lines.
fn event(id: Option<&str>, text: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(text.len() + id.map_or(0, str::len) + 16);
    if let Some(id) = id {
        out.put_slice(b"id: ");
        out.put_slice(id.as_bytes());
        out.put_slice(b"\n");
    }
    out.put_slice(b"data: ");
    out.put_slice(text);
    out.put_slice(b"\n\n");
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heartbeat_is_a_constant_frame() {
        assert_eq!(Framing::Socket.heartbeat(), wire::framed(HEARTBEAT));
    }

    #[test]
    fn the_identifier_of_an_event_encodes_the_positions() {
        let at = |epoch: &str, offset| Some(Position { epoch: epoch.into(), offset });
        let channels = [("a".to_owned(), at("k-3", 7)), ("b".to_owned(), None), ("c".to_owned(), at("k", 0))];
        let positions = Positions::new(channels.clone());
        let read = read_positions(&positions.id()).unwrap();
        assert_eq!(read, channels.map(|(_, position)| position));
        assert!(read_positions("k3").is_none() && read_positions("k-x").is_none());
    }
}
