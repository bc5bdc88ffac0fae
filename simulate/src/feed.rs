//! A device's line to the feed: one socket, one channel, resumed where it was cut.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::api::Api;

const PROTOCOL: &str = "muster.v1.json";
const CONNECTS: Duration = Duration::from_secs(10);
/// The server's heartbeat comes every 25 s: a line that says nothing for longer is dead.
const SILENCE: Duration = Duration::from_secs(60);

/// Why a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Broken,
    /// The server does not let this device listen, or there is no way there.
    Refused,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A line that may be open.
#[derive(Debug)]
pub(super) struct Line {
    channel: String,
    since: Option<(String, u64)>,
    socket: Option<Socket>,
}

impl Line {
    pub(super) fn new(device: &str) -> Self {
        Self { channel: format!("devices:{device}"), since: None, socket: None }
    }

    pub(super) fn close(&mut self) {
        self.socket = None;
    }

    /// Opens the line and subscribes.
    pub(super) async fn open(&mut self, api: &Api, token: &str) -> Result<(), Ended> {
        // No TLS of ours for sockets: behind https a device asks by long poll.
        let base = api.base();
        let address = base.strip_prefix("http://").ok_or(Ended::Refused)?;
        let url = format!("ws://{address}/api/v1/realtime");
        let mut request = url.into_client_request().map_err(|_| Ended::Refused)?;
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| Ended::Refused)?;
        request.headers_mut().insert("authorization", bearer);
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(PROTOCOL));
        let socket = match tokio::time::timeout(CONNECTS, connect_async(request)).await {
            Ok(Ok((socket, _))) => socket,
            Ok(Err(Error::Http(answer))) if matches!(answer.status().as_u16(), 401 | 403 | 404) => {
                return Err(Ended::Refused);
            }
            Ok(Err(_)) | Err(_) => return Err(Ended::Broken),
        };
        self.socket = Some(socket);
        self.greet(api).await
    }

    async fn greet(&mut self, api: &Api) -> Result<(), Ended> {
        let mut options = json!({});
        if let (Some((epoch, offset)), Some(options)) = (&self.since, options.as_object_mut()) {
            options.insert("since".to_owned(), json!({ "epoch": epoch, "offset": offset }));
        }
        let connect = json!({ "id": 1, "connect": { "client": "simulate", "subs": { &*self.channel: options } } });
        self.send(connect).await?;
        loop {
            let frame = self.frame().await?;
            if frame.get("id").and_then(Value::as_u64) != Some(1) {
                continue;
            }
            let sub = frame.pointer("/ok/subs").and_then(|subs| subs.get(&self.channel)).ok_or(Ended::Refused)?;
            let epoch = sub.get("epoch").and_then(Value::as_str).ok_or(Ended::Refused)?.to_owned();
            let offset = sub.get("offset").and_then(Value::as_u64).ok_or(Ended::Refused)?;
            api.counts.sockets.up();
            if self.since.is_some() && sub.get("recovered") == Some(&Value::Bool(true)) {
                api.counts.sockets_resumed.up();
            }
            self.since = Some((epoch, offset));
            return Ok(());
        }
    }

    /// Waits for something on the channel.
    pub(super) async fn rung(&mut self) -> Result<(), Ended> {
        loop {
            let frame = self.frame().await?;
            if frame.get("ch").and_then(Value::as_str) != Some(&self.channel) {
                continue;
            }
            if frame.get("unsubscribed").is_some() {
                return Err(Ended::Refused);
            }
            if let (Some(offset), Some((_, at))) = (frame.get("off").and_then(Value::as_u64), &mut self.since) {
                *at = offset.max(*at);
            }
            let name = frame.get("ev").and_then(Value::as_str).unwrap_or_default();
            if name == "device.command_queued" {
                return Ok(());
            }
        }
    }

    /// The next frame, heartbeats answered.
    async fn frame(&mut self) -> Result<Value, Ended> {
        loop {
            let socket = self.socket.as_mut().ok_or(Ended::Broken)?;
            let message = tokio::time::timeout(SILENCE, socket.next()).await;
            match message {
                Ok(Some(Ok(Message::Text(text)))) if text.as_str() == "{}" => self.send(json!({})).await?,
                Ok(Some(Ok(Message::Text(text)))) => return serde_json::from_str(&text).map_err(|_| Ended::Broken),
                // Never again with these credentials.
                Ok(Some(Ok(Message::Close(Some(close))))) if (4001..=4011).contains(&u16::from(close.code)) => {
                    return Err(Ended::Refused);
                }
                Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                Ok(Some(Ok(_) | Err(_)) | None) | Err(_) => return Err(Ended::Broken),
            }
        }
    }

    async fn send(&mut self, frame: Value) -> Result<(), Ended> {
        let socket = self.socket.as_mut().ok_or(Ended::Broken)?;
        socket.send(Message::text(frame.to_string())).await.map_err(|_| Ended::Broken)
    }
}
