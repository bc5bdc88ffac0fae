//! Fetching of pictures by their URLs, so that nothing but public web servers is reached, and nothing is learnt from a
//! failure but a word.

mod address;
mod body;
mod error;
mod hop;
mod turns;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::Url;
use reqwest::header::LOCATION;
use tokio::time::timeout;

pub use error::{Denied, FetchError, Reason};
use hop::Hop;
use turns::Turns;

/// Most bytes of a picture.
pub const MAX_BYTES: usize = 20 << 20;
/// Redirects that are followed.
const REDIRECTS: usize = 3;
/// Time for the whole fetch.
const WHOLE: Duration = Duration::from_secs(10);
/// Time for the answer's head of one hop, with its connection.
const HEAD: Duration = Duration::from_secs(5);
/// Time for a connection, and for the resolution of a name.
const CONNECT: Duration = Duration::from_secs(3);
/// Longest URL.
const MAX_URL: usize = 2_048;

/// Resolves a name with a port.
type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Fetches pictures. Cheap to clone.
#[derive(Clone)]
pub struct Fetcher {
    /// Addresses that are allowed although they are not public, on their port.
    allowed: Arc<[SocketAddr]>,
    lookup: Lookup,
    turns: Turns,
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

impl Fetcher {
    /// Creates a fetcher that also reaches these addresses.
    pub fn new(allowed: &[SocketAddr]) -> Self {
        let lookup = |name: String, port| {
            async move { Ok(tokio::net::lookup_host((name, port)).await?.collect::<Vec<_>>()) }.boxed()
        };
        Self { allowed: allowed.into(), lookup: Arc::new(lookup), turns: Turns::default() }
    }

    /// Fetches a picture on behalf of a caller, who has two turns at a time. Dropping the future ends the connection.
    ///
    /// # Errors
    /// The URL is not allowed, the fetch failed, or there was no turn in time.
    pub async fn fetch(&self, url: &str, caller: &str) -> Result<Vec<u8>, FetchError> {
        let url = parse(url)?;
        let _turn = timeout(HEAD, self.turns.take(caller)).await.map_err(|_| FetchError::Busy)?;
        timeout(WHOLE, self.follow(url)).await.unwrap_or(Err(FetchError::Failed(Reason::Timeout)))
    }

    async fn follow(&self, mut url: Url) -> Result<Vec<u8>, FetchError> {
        for _ in 0..=REDIRECTS {
            let hop = self.checked(&url).await?;
            let response = hop.get(&url).await?;
            let status = response.status().as_u16();
            if response.status().is_success() {
                return body::read(response).await;
            }
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let (301 | 302 | 303 | 307 | 308, Some(to)) = (status, to) else {
                return Err(FetchError::Failed(Reason::Status));
            };
            url = redirected(&url, to)?;
        }
        Err(FetchError::Failed(Reason::Redirects))
    }

    /// Checks a URL: its form, then every address of its name. The connection goes to these addresses only, so that a name
    /// that changes its address afterwards gains nothing.
    async fn checked(&self, url: &Url) -> Result<Hop, FetchError> {
        let host = url.host_str().ok_or(FetchError::NotAllowed(Denied::Form))?;
        let port = url.port_or_known_default().ok_or(FetchError::NotAllowed(Denied::Port))?;
        // Before the name is looked up: a lookup says whether a name exists.
        let is_open = matches!(port, 80 | 443);
        if !is_open && self.allowed.iter().all(|allowed| allowed.port() != port) {
            return Err(FetchError::NotAllowed(Denied::Port));
        }
        let (name, addresses) = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => (None, vec![SocketAddr::from((address, port))]),
            Err(_) => {
                let looked_up = timeout(CONNECT, (self.lookup)(host.to_owned(), port)).await;
                let looked_up = looked_up.map_err(|_| FetchError::Failed(Reason::Timeout))?;
                (Some(host.to_owned()), looked_up.map_err(|_| FetchError::Failed(Reason::Dns))?)
            }
        };
        if addresses.is_empty() {
            return Err(FetchError::Failed(Reason::Dns));
        }
        for found in &addresses {
            let found = SocketAddr::new(found.ip().to_canonical(), found.port());
            if self.allowed.contains(&found) {
                continue;
            }
            if !is_open {
                return Err(FetchError::NotAllowed(Denied::Port));
            }
            if !address::is_public(found.ip()) {
                return Err(FetchError::NotAllowed(Denied::Address));
            }
        }
        Ok(Hop { name, addresses })
    }
}

/// Parses and checks a URL as far as it can be judged without its address. Octal, hexadecimal and integer spellings of
/// an address are that address after parsing.
fn parse(url: &str) -> Result<Url, FetchError> {
    let denied = |why| Err(FetchError::NotAllowed(why));
    if url.len() > MAX_URL {
        return denied(Denied::Form);
    }
    let Ok(url) = Url::parse(url) else { return denied(Denied::Form) };
    if !matches!(url.scheme(), "http" | "https") {
        return denied(Denied::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return denied(Denied::UserInfo);
    }
    Ok(url)
}

fn redirected(from: &Url, to: &str) -> Result<Url, FetchError> {
    let to = from.join(to).map_err(|_| FetchError::Failed(Reason::Redirects))?;
    let to = parse(to.as_str())?;
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(FetchError::NotAllowed(Denied::Scheme));
    }
    Ok(to)
}

#[cfg(test)]
mod tests;
