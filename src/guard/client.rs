//! Address of a client, and the URL under which it reached the server. What proxies say of either counts only if the
//! connection comes from one of `server.trusted_proxies`.

use std::net::IpAddr;

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderName};

use crate::app::App;
use crate::config::TrustedProxies;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Returns the address of the client: that of the connection, or of the first sender before the trusted proxies.
pub fn client_address(app: &App, request: &HttpRequest) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip().to_canonical();
    let live = app.live();
    let proxies = &live.config.server.trusted_proxies;
    if !proxies.contains(peer) {
        return Some(peer);
    }
    let lines = request.headers().get_all(FORWARDED_FOR).filter_map(|line| line.to_str().ok());
    Some(sender(peer, lines, proxies))
}

/// Returns the last address of `X-Forwarded-For` that is not a trusted proxy's. Each proxy appends the address that it
/// was called from, so only what trusted proxies appended is true.
fn sender<'a>(peer: IpAddr, lines: impl Iterator<Item = &'a str>, proxies: &TrustedProxies) -> IpAddr {
    let lines: Vec<_> = lines.collect();
    let mut sender = peer;
    for hop in lines.iter().flat_map(|line| line.split(',')).rev() {
        // What is not an address was not written by a proxy that can be trusted.
        let Some(address) = address(hop.trim()) else { break };
        sender = address;
        if !proxies.contains(address) {
            break;
        }
    }
    sender
}

/// Parses an address, with a port or without.
fn address(text: &str) -> Option<IpAddr> {
    let plain = text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    plain.or_else(with_port).or_else(in_brackets).map(|address| address.to_canonical())
}

/// Returns the URL of the server as the sender of a request knows it, without a path: `auth.public_url` if it is set;
/// otherwise what a trusted proxy forwards, or the requested host if it is this machine's. A host that a client makes up
/// is never used, because links and proofs of possession are bound to this URL.
pub fn base_url(app: &App, request: &HttpRequest) -> String {
    let live = app.live();
    let public = live.config.auth.public_url.trim_end_matches('/');
    if !public.is_empty() {
        return public.to_owned();
    }
    let tls = if live.config.server.tls.on() { "https" } else { "http" };
    let peer = request.peer_addr().map(|peer| peer.ip().to_canonical());
    if peer.is_some_and(|peer| live.config.server.trusted_proxies.contains(peer))
        && let Some(host) = last(request, &FORWARDED_HOST)
    {
        let scheme = last(request, &FORWARDED_PROTO).filter(|scheme| matches!(*scheme, "http" | "https"));
        return format!("{}://{host}", scheme.unwrap_or(tls));
    }
    // HTTP/2 has the host in the URL.
    let named = request.uri().authority().map(|host| host.as_str());
    let named = named.or_else(|| request.headers().get(header::HOST)?.to_str().ok());
    match named.filter(|host| is_loopback(host)) {
        Some(host) => format!("{tls}://{host}"),
        None => format!("{tls}://{}", request.app_config().local_addr()),
    }
}

/// Returns the URL of a request as its sender knows it, without the query.
pub fn request_url(app: &App, request: &HttpRequest) -> String {
    format!("{}{}", base_url(app, request), request.path())
}

/// Returns the value that the last proxy appended to a header.
fn last<'a>(request: &'a HttpRequest, name: &HeaderName) -> Option<&'a str> {
    let line = request.headers().get_all(name).last()?.to_str().ok()?;
    line.rsplit(',').next().map(str::trim).filter(|value| !value.is_empty())
}

/// Returns whether a host, with a port or without, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.eq_ignore_ascii_case("localhost") || address(name).is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(list: &[&str]) -> TrustedProxies {
        serde_json::from_value(serde_json::json!(list)).unwrap()
    }

    #[test]
    fn only_what_trusted_proxies_appended_is_believed() {
        let own = proxies(&["10.0.0.0/8", "2001:db8::/32"]);
        let seen = |lines: &[&str]| sender("10.0.0.1".parse().unwrap(), lines.iter().copied(), &own).to_string();
        // Addresses of the documentation blocks (RFC 5737, RFC 3849).
        assert_eq!(seen(&["203.0.113.7"]), "203.0.113.7");
        assert_eq!(seen(&["198.51.100.1, 203.0.113.7"]), "203.0.113.7", "the first was sent by the client");
        assert_eq!(seen(&["198.51.100.1", "203.0.113.7, 10.0.0.2"]), "203.0.113.7", "two proxies, two lines");
        assert_eq!(seen(&["203.0.113.7, 2001:db8::1"]), "203.0.113.7");
        assert_eq!(seen(&["203.0.113.7:4711"]), "203.0.113.7");
        assert_eq!(seen(&["::ffff:203.0.113.7"]), "203.0.113.7");
        assert_eq!(seen(&["[2001:db9::1]:80"]), "2001:db9::1");
        assert_eq!(seen(&["203.0.113.7, unknown"]), "10.0.0.1", "what is no address hides what is before it");
        assert_eq!(seen(&[]), "10.0.0.1");
    }

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for (host, own) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1:80", true),
            ("127.8.9.1", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("evil.example", false),
            ("localhost.evil.example:80", false),
            ("evil.example:localhost", false),
            ("192.0.2.1:8080", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(host), own, "{host}");
        }
    }
}
