//! A device's connection to the live feed: one WebSocket, one channel, resumed at its last position.

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
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without a frame after which the connection counts as lost. The server sends a heartbeat every 25 s.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disconnect {
    Lost,
    /// The server does not permit this device to subscribe, or the feed cannot be reached over its address.
    Rejected,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A connection to the feed, open or closed.
#[derive(Debug)]
pub(super) struct FeedConnection {
    channel: String,
    since: Option<(String, u64)>,
    socket: Option<Socket>,
}

impl FeedConnection {
    pub(super) fn new(device: &str) -> Self {
        Self { channel: format!("devices:{device}"), since: None, socket: None }
    }

    pub(super) fn close(&mut self) {
        self.socket = None;
    }

    /// Connects and subscribes, from the last position if there is one.
    pub(super) async fn open(&mut self, api: &Api, token: &str) -> Result<(), Disconnect> {
        // WebSockets are not supported over TLS: with https a device uses long polls.
        let base = api.base();
        let address = base.strip_prefix("http://").ok_or(Disconnect::Rejected)?;
        let url = format!("ws://{address}/api/v1/realtime");
        let mut request = url.into_client_request().map_err(|_| Disconnect::Rejected)?;
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| Disconnect::Rejected)?;
        request.headers_mut().insert("authorization", bearer);
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(PROTOCOL));
        let socket = match tokio::time::timeout(CONNECT_TIMEOUT, connect_async(request)).await {
            Ok(Ok((socket, _))) => socket,
            Ok(Err(Error::Http(answer))) if matches!(answer.status().as_u16(), 401 | 403 | 404) => {
                return Err(Disconnect::Rejected);
            }
            Ok(Err(_)) | Err(_) => return Err(Disconnect::Lost),
        };
        self.socket = Some(socket);
        self.greet(api).await
    }

    async fn greet(&mut self, api: &Api) -> Result<(), Disconnect> {
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
            let sub = frame.pointer("/ok/subs").and_then(|subs| subs.get(&self.channel)).ok_or(Disconnect::Rejected)?;
            let epoch = sub.get("epoch").and_then(Value::as_str).ok_or(Disconnect::Rejected)?.to_owned();
            let offset = sub.get("offset").and_then(Value::as_u64).ok_or(Disconnect::Rejected)?;
            api.counts.sockets.increment();
            if self.since.is_some() && sub.get("recovered") == Some(&Value::Bool(true)) {
                api.counts.sockets_resumed.increment();
            }
            self.since = Some((epoch, offset));
            return Ok(());
        }
    }

    /// Waits until a command is announced on the channel.
    pub(super) async fn wait_for_command(&mut self) -> Result<(), Disconnect> {
        loop {
            let frame = self.frame().await?;
            if frame.get("ch").and_then(Value::as_str) != Some(&self.channel) {
                continue;
            }
            if frame.get("unsubscribed").is_some() {
                return Err(Disconnect::Rejected);
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

    /// Returns the next frame. Heartbeats are answered and skipped.
    async fn frame(&mut self) -> Result<Value, Disconnect> {
        loop {
            let socket = self.socket.as_mut().ok_or(Disconnect::Lost)?;
            let message = tokio::time::timeout(SILENCE_TIMEOUT, socket.next()).await;
            match message {
                Ok(Some(Ok(Message::Text(text)))) if text.as_str() == "{}" => self.send(json!({})).await?,
                Ok(Some(Ok(Message::Text(text)))) => return serde_json::from_str(&text).map_err(|_| Disconnect::Lost),
                // These close codes mean that another attempt with the same credentials would fail too.
                Ok(Some(Ok(Message::Close(Some(close))))) if (4001..=4011).contains(&u16::from(close.code)) => {
                    return Err(Disconnect::Rejected);
                }
                Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                Ok(Some(Ok(_) | Err(_)) | None) | Err(_) => return Err(Disconnect::Lost),
            }
        }
    }

    async fn send(&mut self, frame: Value) -> Result<(), Disconnect> {
        let socket = self.socket.as_mut().ok_or(Disconnect::Lost)?;
        socket.send(Message::text(frame.to_string())).await.map_err(|_| Disconnect::Lost)
    }
}
