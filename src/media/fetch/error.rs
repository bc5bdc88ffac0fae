//! Why a URL is not fetched: words of closed lists, without address or content.

use muster_core::{Error, Kind};
use serde_json::{Value, json};
use std::time::Duration;

/// Why a fetch failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The name has no address.
    Dns,
    /// No connection.
    Connect,
    /// No TLS.
    Tls,
    /// A status other than 200 to 299.
    Status,
    /// Too many redirects, or one without a URL.
    Redirects,
    /// More bytes than are accepted.
    Size,
    /// Too slow.
    Timeout,
    /// What came is no picture.
    NotAPicture,
}

impl Reason {
    /// Returns the word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Status => "status",
            Self::Redirects => "redirects",
            Self::Size => "size",
            Self::Timeout => "timeout",
            Self::NotAPicture => "not_a_picture",
        }
    }

    const fn mend(self) -> &'static str {
        match self {
            Self::Dns => "its name has no address: check the URL",
            Self::Connect => "no connection could be made: check that the server is public and runs",
            Self::Tls => "the server's certificate was not accepted: check it",
            Self::Status => "the server answered without a picture: check that the URL needs no login",
            Self::Redirects => "more than 3 redirects: send the URL of the picture itself",
            Self::Size => "it has more than 20 MiB: scale the picture down",
            Self::Timeout => "it took more than 10 s: send the picture itself",
            Self::NotAPicture => "what came is neither PNG, JPEG, WebP, GIF nor BMP by its first bytes",
        }
    }
}

/// Why a URL is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// No URL, or one of more than 2,048 characters.
    Form,
    /// Neither http nor https; or a redirect from https to http.
    Scheme,
    /// A port other than 80 and 443.
    Port,
    /// A user or password.
    UserInfo,
    /// An address that is not public.
    Address,
}

impl Denied {
    /// Returns the word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Scheme => "scheme",
            Self::Port => "port",
            Self::UserInfo => "user_info",
            Self::Address => "address",
        }
    }

    const fn mend(self) -> &'static str {
        match self {
            Self::Form => "is no URL of at most 2,048 characters",
            Self::Scheme => "must be http or https, also after redirects, and https must not lead to http",
            Self::Port => "must use port 80 or 443",
            Self::UserInfo => "must not hold a user or password",
            Self::Address => "leads to an address that is not public: send the picture itself",
        }
    }
}

/// Why nothing was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchError {
    /// The URL is not allowed. Nothing was sent to where it leads.
    NotAllowed(Denied),
    /// The fetch failed.
    Failed(Reason),
    /// Too many fetches wait.
    Busy,
}

impl FetchError {
    /// Returns the word of metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotAllowed(_) => "not_allowed",
            Self::Failed(reason) => reason.word(),
            Self::Busy => "busy",
        }
    }

    /// Returns the error of a request whose field at `loc` is the URL.
    pub fn at(self, loc: &[&str]) -> Error {
        let (code, reason, message) = match self {
            Self::NotAllowed(denied) => ("url_not_allowed", denied.word(), format!("the URL {}", denied.mend())),
            Self::Failed(reason) => {
                ("url_failed", reason.word(), format!("the picture could not be fetched: {}", reason.mend()))
            }
            Self::Busy => {
                let message = "too many pictures are being fetched: try again, or send the picture itself";
                return Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(5));
            }
        };
        Error::field(Kind::Invalid, loc, message, Value::Null).coded(code).detailing(json!({ "reason": reason }))
    }
}
