//! One request of a fetch, to checked addresses.

use std::error::Error;
use std::io::{self, ErrorKind};
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
    if error.is_timeout() {
        return Reason::Timeout;
    }
    let secure = error.url().is_some_and(|url| url.scheme() == "https");
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if is_of_tls(error, secure) {
            return Reason::Tls;
        }
        cause = within(error);
    }
    Reason::Connect
}

/// The cause of an error. The source of an `io::Error` is the source of the error that it wraps, not that error itself.
fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// Whether TLS failed, or, on a connection for it, the server left in the handshake as one without TLS does.
fn is_of_tls(error: &(dyn Error + 'static), secure: bool) -> bool {
    let left = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    let has_left = || error.downcast_ref::<io::Error>().is_some_and(|error| left.contains(&error.kind()));
    error.is::<rustls::Error>() || (secure && has_left())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(error: &(dyn Error + 'static), secure: bool) -> bool {
        let mut cause = Some(error);
        std::iter::from_fn(|| {
            let error = cause?;
            cause = within(error);
            Some(error)
        })
        .any(|error| is_of_tls(error, secure))
    }

    #[test]
    fn a_failure_of_tls_is_found_however_deep_it_is_wrapped() {
        let failure = || rustls::Error::DecryptError;
        assert!(found(&failure(), true));
        assert!(found(&io::Error::other(failure()), true));
        assert!(found(&io::Error::other(io::Error::new(ErrorKind::InvalidData, failure())), true));
        assert!(found(&io::Error::other(io::Error::from(ErrorKind::UnexpectedEof)), true));
        assert!(!found(&io::Error::other(io::Error::from(ErrorKind::UnexpectedEof)), false));
        assert!(!found(&io::Error::from(ErrorKind::ConnectionRefused), true));
    }
}
