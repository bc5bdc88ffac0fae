//! Sockets under TLS.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_core::event::Event;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::client::TEST_TIMEOUT;
use crate::support::server::Muster;
use crate::support::socket::{Socket, masked, with_timeout};
use crate::support::{EMAIL, PASSWORD};

/// A server with a certificate for its address, and a client that trusts it.
struct Secure {
    muster: Muster,
    connector: TlsConnector,
    token: String,
    _certificate: tempfile::TempDir,
}

impl Secure {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate, cert.pem()).unwrap();
        std::fs::write(&key, signing_key.serialize_pem()).unwrap();
        let muster = Muster::start(&format!("[server.tls]\ncert = {certificate:?}\nkey = {key:?}\n"));

        muster_providers::install_tls();
        let trusted = reqwest::Certificate::from_pem(cert.pem().as_bytes()).unwrap();
        let http =
            reqwest::Client::builder().no_proxy().timeout(TEST_TIMEOUT).tls_certs_only([trusted]).build().unwrap();
        let url = format!("https://{}/api/v1/auth/login", muster.address);
        let login = json!({ "email": EMAIL, "password": PASSWORD }).to_string();
        let got = http.post(url).header("content-type", "application/json").body(login).send().await.unwrap();
        let got: serde_json::Value = serde_json::from_str(&got.text().await.unwrap()).unwrap();
        let token = got["data"]["token"].as_str().unwrap().to_owned();

        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let client = client.with_root_certificates(roots).with_no_client_auth();
        Self { muster, connector: TlsConnector::from(Arc::new(client)), token, _certificate: folder }
    }

    /// A connection with a small receive buffer.
    async fn connection(&self) -> TlsStream<tokio::net::TcpStream> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let stream = socket.connect(self.muster.address).await.unwrap();
        with_timeout(self.connector.connect(ServerName::try_from("127.0.0.1").unwrap(), stream)).await.unwrap()
    }

    async fn open(&self) -> Socket {
        let url = format!("wss://{}/api/v1/realtime", self.muster.address);
        let bearer = format!("Bearer {}", self.token);
        let stream = self.muster.address;
        let stream = tokio::net::TcpStream::connect(stream).await.unwrap();
        let stream = self.connector.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await.unwrap();
        Socket::handshake_over(Box::new(stream), &url, &[("authorization", &bearer)]).await.unwrap()
    }

    fn publish(&self, from: u64, pad: &str) {
        let event =
            |n| Event::new("a", self.muster.app.clock.now(), vec!["system".into()], &json!({ "n": n, "p": pad }));
        self.muster.app.feed.publisher().publish((from..from + 50).map(event).collect());
    }
}

#[tokio::test]
async fn sockets_under_tls_work_and_one_that_stalls_is_cut_off() {
    let secure = Secure::start().await;
    let mut reader = secure.open().await;
    reader.subscribe(json!({ "ch": "system" })).await;

    let mut stalled = secure.connection().await;
    let request = format!(
        "GET /api/v1/realtime HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Authorization: Bearer {}\r\n\r\n",
        secure.muster.address, secure.token
    );
    stalled.write_all(request.as_bytes()).await.unwrap();
    stalled.write_all(&masked(0x81, br#"{"id":1,"subscribe":{"ch":"system"}}"#)).await.unwrap();

    let (pad, mut published, began) = ("x".repeat(4000), 0, Instant::now());
    while secure.muster.app.sockets.evicted() == 0 && began.elapsed() < Duration::from_secs(60) {
        secure.publish(published, &pad);
        for n in published..published + 50 {
            assert_eq!(reader.frame().await["data"]["n"], n);
        }
        published += 50;
    }
    assert_eq!(secure.muster.app.sockets.evicted(), 1, "after {published} frames");
    secure.publish(published, "last");
    assert_eq!(reader.frame().await["data"]["n"], published, "others are served on");
    drop(stalled);
}
