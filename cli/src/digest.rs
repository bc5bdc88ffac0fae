//! The field `Repr-Digest` (RFC 9530) with SHA-256.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Reads the SHA-256 of a field `Repr-Digest`, which may have digests by other algorithms too.
pub(crate) fn parse(field: &str) -> Option<[u8; 32]> {
    let digest = field.split(',').find_map(|member| member.trim().strip_prefix("sha-256="))?;
    // A byte sequence of RFC 8941, which may have parameters.
    let encoded = digest.split(';').next()?.trim().strip_prefix(':')?.strip_suffix(':')?;
    STANDARD.decode(encoded).ok()?.try_into().ok()
}

/// Formats a digest in lower-case hexadecimal digits.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_of_the_rfc_is_read() {
        // RFC 9530, appendix B.1: the representation {"hello": "world"} and a line feed.
        let field = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
        let digest = parse(field).unwrap();
        assert_eq!(hex(&digest), "44aff4ab2d7c3250525675a08f0cfa9591168cffe51791c5f5bbc417c15a6c38");
        assert_eq!(parse(&format!("sha-512=:AAAA:, {field}")), Some(digest));
        for wrong in ["", "sha-256=", "sha-256=::", "sha-256=:AAAA:", "sha-256=RK/0", "sha-512=:AAAA:"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
