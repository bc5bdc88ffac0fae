//! HTTPS by the program: clients that trust its certificate are served, and an unusable certificate stops the start.

use crate::support;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use muster::config::Tls;
use muster::tls::Certificate;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use support::KEY;
use support::client::TEST_TIMEOUT;
use support::process::Launch;

/// Writes a new certificate for this address with its key; returns its text.
fn certificate(folder: &Path) -> String {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), signing_key.serialize_pem()).unwrap();
    cert.pem()
}

fn launch(folder: &Path) -> Launch {
    Launch::new(folder).with("MUSTER__SERVER__TLS__CERT", "cert.pem").with("MUSTER__SERVER__TLS__KEY", "key.pem")
}

fn client(trusted: &str, http1: bool) -> reqwest::Client {
    muster_providers::install_tls();
    let trusted = reqwest::Certificate::from_pem(trusted.as_bytes()).unwrap();
    let builder = reqwest::Client::builder().no_proxy().timeout(TEST_TIMEOUT).tls_certs_only([trusted]);
    if http1 { builder.http1_only() } else { builder }.build().unwrap()
}

#[tokio::test]
async fn who_trusts_the_certificate_is_served_by_http_2_or_1() {
    let folder = tempfile::tempdir().unwrap();
    let cert = certificate(folder.path());
    let mut process = launch(folder.path()).start();
    assert!(process.url.starts_with("https://127.0.0.1:"), "{}", process.url);
    for (http1, version) in [(false, reqwest::Version::HTTP_2), (true, reqwest::Version::HTTP_11)] {
        let url = format!("{}/v1/models", process.url);
        let answer = client(&cert, http1).get(url).bearer_auth(KEY).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, version));
    }
    let stranger = tempfile::tempdir().unwrap();
    let other = certificate(stranger.path());
    assert!(client(&other, false).get(&process.url).send().await.is_err(), "another certificate is not trusted");

    // Plain HTTP on this port ends the connection, without an answer or a hang.
    let address = process.url.trim_start_matches("https://");
    let mut plain = TcpStream::connect(address).unwrap();
    plain.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut output = Vec::new();
    match plain.read_to_end(&mut output) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    assert!(!output.starts_with(b"HTTP"), "{:?}", String::from_utf8_lossy(&output));
    let answer = client(&cert, false).get(format!("{}/api/health/live", process.url)).send().await.unwrap();
    assert_eq!(answer.status(), 200, "and others are served on");
    process.signal("TERM");
    assert_eq!(process.ended().code(), Some(0));
}

#[test]
fn files_that_cannot_be_used_stop_the_start_with_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refused = |named: &str, reason: &str| {
        let (code, output) = launch(folder).fail();
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains(named) && output.contains(reason), "{output}");
    };
    refused("server.tls.cert (cert.pem)", "cannot be read");
    certificate(folder);
    fs::write(folder.join("key.pem"), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    refused("server.tls.key (key.pem)", "is not the key of the certificate");
    fs::write(folder.join("key.pem"), "no key").unwrap();
    refused("server.tls.key (key.pem)", "holds no private key");
    fs::write(folder.join("cert.pem"), "no certificate").unwrap();
    refused("server.tls.cert (cert.pem)", "holds no certificate");
    let (code, output) = Launch::new(folder).with("MUSTER__SERVER__TLS__CERT", "cert.pem").fail();
    assert!(code == Some(1) && output.contains("cert and key together"), "{output}");
}

#[test]
fn after_a_reload_a_valid_pair_is_presented_and_an_invalid_one_is_not() {
    use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let old = certificate(folder.path());
    let tls = Tls { cert: path("cert.pem"), key: path("key.pem") };
    let presented_certificate = Certificate::read(&tls).unwrap().expect("TLS is on");
    let config = std::sync::Arc::new(presented_certificate.server_config().unwrap());
    // A handshake in memory: returns the presented certificate, if the client accepts it.
    let accepted = |trusted: &str| {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap()).unwrap();
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let client =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let client = client.with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut client = rustls::ClientConnection::new(client.into(), name).unwrap();
        let mut server = rustls::ServerConnection::new(std::sync::Arc::clone(&config)).unwrap();
        while client.is_handshaking() {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            server.read_tls(&mut wire.as_slice()).unwrap();
            if server.process_new_packets().is_err() {
                return false;
            }
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut wire = wire.as_slice();
            while !wire.is_empty() {
                client.read_tls(&mut wire).unwrap();
                if client.process_new_packets().is_err() {
                    return false;
                }
            }
        }
        true
    };
    assert!(accepted(&old));
    let new = certificate(folder.path());
    assert!(accepted(&old), "until it is read anew");
    presented_certificate.reload().unwrap();
    assert!(accepted(&new) && !accepted(&old));
    fs::write(path("key.pem"), "no key").unwrap();
    assert!(presented_certificate.reload().unwrap_err().to_string().contains("server.tls.key"));
    assert!(accepted(&new), "what cannot be used changes nothing");
}
