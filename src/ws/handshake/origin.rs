//! Checks which pages may open sockets (CWE-1385): a browser always sends the origin of a page.

use actix_web::HttpRequest;
use actix_web::http::header;
use muster_core::{Error, Kind};

/// Permits the server's own pages and those of `allowed`. Clients that are not browsers send no origin and are checked
/// by their token.
///
/// # Errors
/// `Forbidden` for another origin.
pub(super) fn check(request: &HttpRequest, allowed: &[String], with_token: bool) -> Result<(), Error> {
    let mut sent = request.headers().get_all(header::ORIGIN);
    let (origin, more) = (sent.next(), sent.next());
    let fits = match (origin.map(|origin| origin.to_str()), more) {
        (None, _) => with_token,
        (Some(Ok(origin)), None) => {
            let scheme = if request.app_config().secure() { "https" } else { "http" };
            allowed.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(origin))
                || is_own(origin, scheme, request.headers().get(header::HOST).and_then(|it| it.to_str().ok()))
        }
        (Some(_), _) => false,
    };
    if fits {
        return Ok(());
    }
    let message = match origin {
        None => "a handshake without Origin must carry `Authorization: Bearer <token>`",
        Some(_) => "pages of this origin may not connect: add it to server.cors_origins",
    };
    Err(Error::new(Kind::Forbidden, message).coded("origin_not_allowed"))
}

/// Returns whether the whole origin is the server's. Behind a proxy that terminates TLS the server sees `http` where
/// the page sees `https`, so the scheme is not compared there.
fn is_own(origin: &str, scheme: &str, host: Option<&str>) -> bool {
    let Some((page, authority)) = origin.split_once("://") else { return false };
    let scheme_fits = page == scheme || (scheme == "http" && page == "https");
    scheme_fits && host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_origin_is_the_servers_own() {
        for (origin, own) in [
            ("http://ops.example.org", true),
            ("https://ops.example.org", true),
            ("HTTP://ops.example.org", false),
            ("http://OPS.example.org", true),
            ("http://ops.example.org:8080", false),
            ("http://evil.org/ops.example.org", false),
            ("http://evilops.example.org", false),
            ("http://ops.example.org.evil.org", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(is_own(origin, "http", Some("ops.example.org")), own, "{origin}");
        }
        assert!(!is_own("http://ops.example.org", "https", Some("ops.example.org")), "a page without TLS of one with");
        assert!(!is_own("http://ops.example.org", "http", None));
    }
}
