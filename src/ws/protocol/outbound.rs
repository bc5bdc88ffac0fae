//! Builds the frames for clients. Pure.

use std::sync::Arc;

use muster_core::Millis;
use muster_feed::{HistoryPage, Present, Publication, Subscribed};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::fault::Fault;

pub(super) fn ok(id: u32, body: &Value) -> String {
    json!({ "id": id, "ok": body }).to_string()
}

pub(super) fn error(id: u32, fault: &Fault) -> String {
    json!({ "id": id, "error": fault.json() }).to_string()
}

/// The end of a subscription that the client did not request.
pub(super) fn unsubscribed(channel: &str, code: u16, reason: &str) -> String {
    json!({ "ch": channel, "unsubscribed": { "code": code, "reason": reason } }).to_string()
}

/// A subscription made by the server.
pub(super) fn subscribed(channel: &str, body: Map<String, Value>) -> String {
    json!({ "ch": channel, "subscribed": body }).to_string()
}

/// Publications that were skipped because their reader was too slow; its position is now `to`.
pub(crate) fn conflated(channel: &str, from: u64, to: u64) -> String {
    json!({ "ch": channel, "conflated": { "from": from, "to": to } }).to_string()
}

pub(super) fn expiring(seconds: u64) -> String {
    json!({ "sys": "auth.expiring", "ttl": seconds }).to_string()
}

/// A successful subscription; `sent` is the number of missed publications that follow the reply.
pub(super) fn subscription(subscribed: &Subscribed, sent: usize) -> Map<String, Value> {
    let mut body = Map::new();
    let recovered = subscribed.resumed && subscribed.recovered.is_ok();
    body.insert("epoch".to_owned(), json!(&*subscribed.position.epoch));
    body.insert("offset".to_owned(), json!(subscribed.position.offset));
    body.insert("recovered".to_owned(), json!(recovered));
    body.insert("pubs".to_owned(), json!(sent));
    if let Err(why) = subscribed.recovered {
        body.insert("why".to_owned(), json!(why.name()));
    }
    if let Some(state) = &subscribed.state {
        body.insert("state".to_owned(), json!(state));
    }
    body
}

/// Publications, each as the text of its frame.
pub(crate) fn frames(publications: &[Arc<Publication>]) -> Vec<Value> {
    let value = |publication: &Arc<Publication>| serde_json::from_slice(&publication.json).ok();
    publications.iter().filter_map(value).collect()
}

pub(crate) fn history(page: &HistoryPage) -> Value {
    let mut body = json!({
        "ch": &*page.channel,
        "epoch": &*page.position.epoch,
        "offset": page.position.offset,
        "recovered": page.recovered.is_ok(),
        "publications": frames(&page.publications),
        "more": page.more,
    });
    if let (Err(why), Some(body)) = (page.recovered, body.as_object_mut()) {
        body.insert("why".to_owned(), json!(why.name()));
    }
    body
}

pub(crate) fn presence(channel: &str, present: &[Present]) -> Value {
    json!({ "ch": channel, "present": present })
}

/// A message to a connection about itself.
pub(super) struct Welcome<'a> {
    pub(super) conn: &'a str,
    pub(super) user: &'a str,
    pub(super) exp: Millis,
    pub(super) ping_seconds: u64,
    pub(super) now: Millis,
    pub(super) max_subscriptions: usize,
    pub(super) max_frame: usize,
    pub(super) subs: Map<String, Value>,
}

impl Welcome<'_> {
    pub(super) fn json(self) -> Value {
        json!({
            "conn": self.conn,
            "user": self.user,
            "exp": self.exp.seconds(),
            "ping": self.ping_seconds,
            "server_time": self.now.rfc3339(),
            "limits": { "subs": self.max_subscriptions, "frame": self.max_frame },
            "subs": self.subs,
        })
    }
}

/// The result of a command, which may be any JSON.
pub(super) fn done(id: u32, result: &RawValue) -> String {
    format!("{{\"id\":{id},\"ok\":{result}}}")
}
