//! One request of a fetch, to checked addresses.

use std::io::ErrorKind;
use std::net::SocketAddr;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use tokio::time::timeout;

use super::{CONNECT, FetchError, HEAD, Reason};

/// Where a request goes.
#[derive(Debug)]
pub(super) struct Hop {
    /// Name of the URL; `None` if it has an address in its place.
    pub(super) name: Option<String>,
    /// The addresses that were checked.
    pub(super) addresses: Vec<SocketAddr>,
}

impl Hop {
    /// Sends the request; the URL's name stays its Host and the name of its certificate.
    pub(super) async fn get(&self, url: &Url) -> Result<Response, FetchError> {
        muster_providers::install_tls();
        let mut builder = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")));
        if url.scheme() == "http" {
            builder = builder.tls_certs_only([]).http1_only();
        }
        if let Some(name) = &self.name {
            builder = builder.resolve_to_addrs(name, &self.addresses);
        }
        let client = builder.build().map_err(|_| FetchError::Failed(Reason::Tls))?;
        let request = client
            .get(url.clone())
            .header(ACCEPT, HeaderValue::from_static("image/png, image/jpeg, image/webp, image/gif, image/bmp"))
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let sent = timeout(HEAD, request.send()).await.map_err(|_| FetchError::Failed(Reason::Timeout))?;
        sent.map_err(|error| FetchError::Failed(reason(&error)))
    }
}

/// The word for a failure of the connection.
pub(super) fn reason(error: &reqwest::Error) -> Reason {
    let secure = error.url().is_some_and(|url| url.scheme() == "https");
    if error.is_timeout() {
        return Reason::Timeout;
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if error.is::<rustls::Error>() || inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return Reason::Tls;
        }
        // A server without TLS closes the connection in the handshake.
        let closed =
            error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::UnexpectedEof);
        if closed && secure {
            return Reason::Tls;
        }
        cause = error.source();
    }
    Reason::Connect
}
