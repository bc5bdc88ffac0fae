//! The way to the server: a WebSocket over HTTP, by an API key or the login that is kept.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use muster_auth::dpop::sign_proof;
use muster_core::Clock;
use reqwest::{Method, StatusCode, Upgraded};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::session::Device;

const PATH: &str = "/api/q62/dashboard/agents";
const PROTOCOL: &str = "muster.v1.json";
const CONNECTS: Duration = Duration::from_secs(10);
/// The server's heartbeat comes every 25 s: a line that says nothing for longer is dead.
const SILENCE: Duration = Duration::from_secs(60);

/// Who watches.
pub(super) enum Credential {
    /// An API key with the scope `agents`, or a token of a login that is bound to no key.
    Bearer(String),
    Login(Box<Device>),
}

/// Why there is no connection, or none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// It may be tried again.
    Broken(String),
    /// At once: the token is over, or the server wants it so.
    Again(String),
    /// Another try would end the same way.
    Refused(String),
}

/// A connection that stands.
pub(super) struct Link {
    socket: WebSocketStream<Upgraded>,
}

impl Link {
    /// # Errors
    /// Why there is none.
    pub(super) async fn open(server: &str, credential: &Credential) -> Result<Self, Ended> {
        let opened = tokio::time::timeout(CONNECTS, shake(server, credential)).await;
        opened.unwrap_or_else(|_| Err(Ended::Broken(format!("{server} does not answer"))))
    }

    /// The next frame, heartbeats answered.
    ///
    /// # Errors
    /// The connection ended.
    pub(super) async fn frame(&mut self) -> Result<Value, Ended> {
        let broken = |why: &str| Err(Ended::Broken(why.to_owned()));
        loop {
            match tokio::time::timeout(SILENCE, self.socket.next()).await {
                Err(_) => return broken("the server is silent"),
                Ok(None) => return broken("the connection ended"),
                Ok(Some(Err(error))) => return broken(&error.to_string()),
                Ok(Some(Ok(Message::Text(text)))) if text.as_str() == "{}" => self.send(&json!({})).await?,
                Ok(Some(Ok(Message::Text(text)))) => {
                    return serde_json::from_str(&text).or_else(|_| broken("the server sent what is no JSON"));
                }
                Ok(Some(Ok(Message::Close(close)))) => {
                    let close = close.map(|close| (u16::from(close.code), close.reason.to_string()));
                    return Err(ended(close));
                }
                Ok(Some(Ok(_))) => {}
            }
        }
    }

    /// # Errors
    /// The connection ended.
    pub(super) async fn send(&mut self, frame: &Value) -> Result<(), Ended> {
        let sent = self.socket.send(Message::text(frame.to_string())).await;
        sent.map_err(|error| Ended::Broken(error.to_string()))
    }
}

/// What a close means for a client (contract 5's table).
fn ended(close: Option<(u16, String)>) -> Ended {
    match close {
        None => Ended::Broken("the server closed the connection".to_owned()),
        Some((code, reason)) => {
            let why = format!("the server closed the connection: {reason} ({code})");
            match code {
                4001..=4011 => Ended::Refused(why),
                4200..=4203 => Ended::Again(why),
                _ => Ended::Broken(why),
            }
        }
    }
}

async fn shake(server: &str, credential: &Credential) -> Result<Link, Ended> {
    let url = format!("{server}{PATH}");
    let broken = |error: &dyn std::fmt::Display| Ended::Broken(format!("{server} does not answer: {error}"));
    crate::install_tls();
    // A socket is no stream of HTTP/2.
    let http = reqwest::Client::builder().http1_only().build().map_err(|error| broken(&error))?;
    let mut request = http
        .get(&url)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key())
        .header("sec-websocket-protocol", PROTOCOL);
    for (name, value) in authorization(server, &url, credential).await.map_err(Ended::Refused)? {
        request = request.header(name, value);
    }
    let answer = request.send().await.map_err(|error| broken(&error))?;
    match answer.status() {
        StatusCode::SWITCHING_PROTOCOLS => {
            let stream = answer.upgrade().await.map_err(|error| broken(&error))?;
            Ok(Link { socket: WebSocketStream::from_raw_socket(stream, Role::Client, None).await })
        }
        status => {
            let said = answer.text().await.unwrap_or_default();
            let said: Value = serde_json::from_str(&said).unwrap_or_default();
            let message = said.get("detail").or_else(|| said.get("message")).and_then(Value::as_str);
            let why = message.map_or_else(|| format!("{server} answered {status}"), str::to_owned);
            let again = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
            Err(if again { Ended::Broken(why) } else { Ended::Refused(why) })
        }
    }
}

async fn authorization(
    server: &str,
    url: &str,
    credential: &Credential,
) -> Result<Vec<(&'static str, String)>, String> {
    let device = match credential {
        Credential::Bearer(token) => return Ok(vec![("authorization", format!("Bearer {token}"))]),
        Credential::Login(device) => device,
    };
    // Refreshes a token that is over.
    device.ask(Method::GET, "/api/v1/auth/me", None, None).await?;
    let (token, key) =
        device.bound_to(server)?.ok_or_else(|| format!("nobody is logged in at {server}: run `muster login`"))?;
    let now = Clock::system().now().seconds();
    let proof = sign_proof(&key, "GET", url, Some(&token), None, now).map_err(|error| error.to_string())?;
    Ok(vec![("authorization", format!("DPoP {token}")), ("dpop", proof)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_says_whether_to_come_again() {
        let of = |code: u16| ended(Some((code, "why".to_owned())));
        for code in [4001, 4003, 4004, 4009, 4011] {
            assert!(matches!(of(code), Ended::Refused(_)), "{code}");
        }
        for code in [1012, 4100, 4101, 4102, 4103] {
            assert!(matches!(of(code), Ended::Broken(_)), "{code}");
        }
        assert!(matches!(of(4200), Ended::Again(_)) && matches!(of(4203), Ended::Again(_)));
        assert!(matches!(ended(None), Ended::Broken(_)));
    }
}
