//! A certificate for the tests' servers, and connections that trust it.

use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A self-signed certificate for 127.0.0.1.
pub struct SelfSigned {
    pub pem: String,
    connector: TlsConnector,
}

impl SelfSigned {
    /// Writes the certificate and its key into a folder; returns it with the settings that use them.
    pub fn write(folder: &Path) -> (Self, String) {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let (cert_path, key_path) = (folder.join("cert.pem"), folder.join("key.pem"));
        std::fs::write(&cert_path, cert.pem()).unwrap();
        std::fs::write(&key_path, signing_key.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let settings = format!("[server.tls]\ncert = {cert_path:?}\nkey = {key_path:?}\n");
        (Self { pem: cert.pem(), connector: TlsConnector::from(Arc::new(config)) }, settings)
    }

    pub async fn connect(&self, stream: TcpStream) -> TlsStream<TcpStream> {
        self.connector.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await.unwrap()
    }
}
