//! Sockets of tokens that are bound to a key (RFC 9449).

use muster_auth::PrivateKey;
use muster_auth::dpop::sign_proof;
use muster_core::Clock;
use serde_json::{Value, json};

use super::world::server;
use crate::support::client::answer;
use crate::support::server::Muster;
use crate::support::socket::{Socket, SocketMessage};
use crate::support::{EMAIL, PASSWORD};

const SOCKET: &str = "/api/v1/realtime";

/// A user's session whose tokens are bound to the key of the device.
struct BoundSession<'a> {
    muster: &'a Muster,
    key: PrivateKey,
    token: String,
    refresh: String,
}

fn prove(muster: &Muster, key: &PrivateKey, method: &str, path: &str, token: Option<&str>) -> String {
    let now = Clock::system().now().seconds();
    sign_proof(key, method, &format!("http://{}{path}", muster.address), token, None, now).unwrap()
}

impl<'a> BoundSession<'a> {
    async fn login(muster: &'a Muster, key: PrivateKey) -> Self {
        let path = "/api/v1/auth/cli/login";
        let login = muster.client().without_key().post_request(path, &json!({ "email": EMAIL, "password": PASSWORD }));
        let got = answer(login.header("DPoP", prove(muster, &key, "POST", path, None))).await;
        assert_eq!(got.status, 200, "{}", got.text);
        let token = |name: &str| got.json()["data"][name].as_str().unwrap().to_owned();
        Self { muster, key, token: token("token"), refresh: token("refresh_token") }
    }

    /// A fresh proof for the socket and that token.
    fn proof(&self, token: &str) -> String {
        prove(self.muster, &self.key, "GET", SOCKET, Some(token))
    }

    /// The session's next access token.
    async fn next(&self) -> String {
        let path = "/api/v1/auth/refresh";
        let request = self.muster.client().without_key().post_request(path, &json!({ "refresh_token": self.refresh }));
        let got = answer(request.header("DPoP", prove(self.muster, &self.key, "POST", path, None))).await;
        assert_eq!(got.status, 200, "{}", got.text);
        got.json()["data"]["token"].as_str().unwrap().to_owned()
    }

    async fn handshake(&self, scheme: &str, proof: Option<&str>) -> Result<Socket, u16> {
        let authorization = format!("{scheme} {}", self.token);
        let mut headers = vec![("authorization", authorization.as_str())];
        headers.extend(proof.map(|proof| ("dpop", proof)));
        Socket::handshake(self.muster, SOCKET, &headers).await.map_err(|refused| refused.status)
    }
}

#[tokio::test]
async fn a26_a_bound_token_opens_no_socket_without_a_fresh_proof_of_its_key() {
    let muster = server("");
    let session = BoundSession::login(&muster, PrivateKey::generate().unwrap()).await;
    let stranger = prove(&muster, &PrivateKey::generate().unwrap(), "GET", SOCKET, Some(&session.token));
    let elsewhere = prove(&muster, &session.key, "GET", "/api/v1/auth/me", Some(&session.token));
    for scheme in ["Bearer", "DPoP"] {
        for proof in [None, Some(stranger.as_str()), Some(elsewhere.as_str()), Some("no.proof.atall")] {
            assert_eq!(session.handshake(scheme, proof).await.err(), Some(401), "{scheme} {proof:?}");
        }
        let proof = session.proof(&session.token);
        assert!(session.handshake(scheme, Some(&proof)).await.is_ok(), "{scheme}");
        assert_eq!(session.handshake(scheme, Some(&proof)).await.err(), Some(401), "{scheme}: a proof is good once");
    }
}

#[tokio::test]
async fn a26_where_bearer_is_rejected_a_bound_token_opens_a_socket_by_its_own_scheme_only() {
    let muster = server("[auth]\nbound_bearer = \"reject\"\n");
    let session = BoundSession::login(&muster, PrivateKey::generate().unwrap()).await;
    assert_eq!(session.handshake("Bearer", Some(&session.proof(&session.token))).await.err(), Some(401));
    assert!(session.handshake("DPoP", Some(&session.proof(&session.token))).await.is_ok());
}

#[tokio::test]
async fn a26_a_bound_token_is_proved_in_the_first_frame_too() {
    let muster = server("");
    let session = BoundSession::login(&muster, PrivateKey::generate().unwrap()).await;
    let proof = session.proof(&session.token);
    let mut socket = Socket::page(&muster).await;
    let hello = socket.request(json!({ "connect": { "token": session.token, "dpop": proof } })).await;
    assert!(hello["ok"]["conn"].is_string(), "{hello}");
    for dpop in [Value::Null, json!(proof), json!("no.proof.atall")] {
        let mut page = Socket::page(&muster).await;
        let mut connect = json!({ "token": session.token });
        if dpop.is_string() {
            connect["dpop"] = dpop.clone();
        }
        page.send(&json!({ "id": 1, "connect": connect })).await;
        assert_eq!(page.closed().await, 4001, "{dpop}");
    }
    assert!(
        socket.request(json!({ "history": { "ch": "system" } })).await["ok"].is_object(),
        "the first one stays open"
    );
}

#[tokio::test]
async fn a33_a_bound_socket_is_refreshed_by_its_own_session_and_a_fresh_proof_only() {
    let muster = server("");
    let key = PrivateKey::generate().unwrap();
    let session = BoundSession::login(&muster, key.clone()).await;
    let same_key = BoundSession::login(&muster, key).await;
    let next = session.next().await;
    let open = async || session.handshake("DPoP", Some(&session.proof(&session.token))).await.unwrap();

    let mut socket = open().await;
    let fresh = session.proof(&next);
    let reply = socket.request(json!({ "refresh": { "token": next, "dpop": fresh } })).await;
    assert!(reply["ok"]["exp"].is_u64(), "{reply}");
    let stranger = prove(&muster, &PrivateKey::generate().unwrap(), "GET", SOCKET, Some(&next));
    for (name, refresh) in [
        ("no proof", json!({ "token": next })),
        ("a used proof", json!({ "token": next, "dpop": fresh })),
        ("another key's proof", json!({ "token": next, "dpop": stranger })),
        ("the proof of another token", json!({ "token": next, "dpop": session.proof(&session.token) })),
        ("another session", json!({ "token": same_key.token, "dpop": same_key.proof(&same_key.token) })),
    ] {
        let mut other = open().await;
        other.send(&json!({ "id": 7, "refresh": refresh })).await;
        match other.next().await {
            SocketMessage::Closed(code) => assert_eq!(code, 4001, "{name}"),
            frame => panic!("{name}: {frame:?}"),
        }
    }
    assert!(
        socket.request(json!({ "history": { "ch": "system" } })).await["ok"].is_object(),
        "refreshed, it stays open"
    );
}
