//! Request URLs in the form in which proofs contain them: without query and fragment, normalized (RFC 9449 §4.3, RFC
//! 3986 §6.2).

/// Normalizes an absolute http(s) URL. Returns `None` if it is invalid or contains user information.
pub fn normalize(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let port = match scheme.as_str() {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let rest = rest.split(['?', '#']).next()?;
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let authority = authority.to_ascii_lowercase();
    let authority = authority.strip_suffix(port).or_else(|| authority.strip_suffix(':')).unwrap_or(&authority);
    if authority.is_empty() || authority.contains('@') {
        return None;
    }
    Some(format!("{scheme}://{authority}{}", path_of(path)?))
}

/// Normalizes percent-encodings: upper-case digits, and unreserved characters decoded.
fn path_of(path: &str) -> Option<String> {
    let mut out = String::with_capacity(path.len());
    let mut rest = path.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let (high, low) = (rest.next()?.to_digit(16)?, rest.next()?.to_digit(16)?);
        let byte = char::from_u32(high * 16 + low)?;
        if byte.is_ascii_alphanumeric() || "-._~".contains(byte) {
            out.push(byte);
        } else {
            out.push_str(&format!("%{:02X}", high * 16 + low));
        }
    }
    Some(out)
}
