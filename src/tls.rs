//! HTTPS: the server's certificate, which can be reloaded while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

use crate::config::Tls;

/// A certificate or key that cannot be used: which file, why, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} ({path}): {why}")]
pub struct TlsError {
    setting: &'static str,
    path: String,
    why: String,
}

/// The certificate for new connections. Open connections keep theirs.
pub struct Certificate {
    cert: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: watch::Sender<Arc<CertifiedKey>>,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").field("cert", &self.cert).finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads both files of the settings; `None` if TLS is off.
    ///
    /// # Errors
    /// A file is missing or damaged, or the key does not belong to the certificate.
    pub fn read(tls: &Tls) -> Result<Option<Arc<Self>>, TlsError> {
        if !tls.on() {
            return Ok(None);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let current = pair(&tls.cert, &tls.key, &provider)?;
        let current = watch::Sender::new(Arc::new(current));
        Ok(Some(Arc::new(Self { cert: tls.cert.clone(), key: tls.key.clone(), provider, current })))
    }

    /// Reads both files again; returns the names of those that changed. If they cannot be used the present certificate is
    /// kept.
    ///
    /// # Errors
    /// Those of [`Certificate::read`].
    pub fn reload(&self) -> Result<Vec<String>, TlsError> {
        let pair = pair(&self.cert, &self.key, &self.provider)?;
        let changed = self.current.borrow().cert != pair.cert;
        self.current.send_replace(Arc::new(pair));
        Ok(changed.then(|| format!("server.tls.cert ({})", self.cert.display())).into_iter().collect())
    }

    /// Returns the TLS configuration: TLS 1.2 and 1.3, no client certificates. The HTTP server adds HTTP/2 and
    /// HTTP/1.1.
    ///
    /// # Errors
    /// The cryptography provider supports none of these versions, which no build can produce.
    pub fn server_config(self: &Arc<Self>) -> Result<ServerConfig, rustls::Error> {
        let versions =
            ServerConfig::builder_with_provider(Arc::clone(&self.provider)).with_safe_default_protocol_versions()?;
        Ok(versions.with_no_client_auth().with_cert_resolver(Arc::clone(self) as _))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.borrow()))
    }
}

fn pair(cert: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let bad = |setting, path: &Path, why: String| TlsError { setting, path: path.display().to_string(), why };
    let bad_cert = |why| bad("server.tls.cert", cert, why);
    let bad_key = |why| bad("server.tls.key", key, why);

    let text = std::fs::read(cert).map_err(|error| bad_cert(format!("cannot be read: {error}")))?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| bad_cert(format!("is no PEM file: {error}")))?;
    if chain.is_empty() {
        return Err(bad_cert(
            "holds no certificate: it must contain the server's certificate in PEM form, followed by those of its issuers".into(),
        ));
    }
    let text = std::fs::read(key).map_err(|error| bad_key(format!("cannot be read: {error}")))?;
    let private = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| bad_key("holds no private key: it must contain the key in PEM form, without a password".into()))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            bad_key(format!("is not the key of the certificate in {}", cert.display()))
        }
        rustls::Error::InvalidCertificate(why) => bad_cert(format!("holds no valid certificate: {why:?}")),
        other => bad_key(format!("cannot be used: {other}")),
    })
}
