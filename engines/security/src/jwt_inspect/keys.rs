//! Public keys in PEM: `SubjectPublicKeyInfo` (RFC 5280, 4.1.2.7), and `RSA PUBLIC KEY` (RFC 8017, A.1.1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Object identifiers of the kinds of keys, in DER without their head.
pub(super) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
pub(super) const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
pub(super) const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Returns the key's own bytes: an RSA key in DER, a point of a curve, or 32 bytes.
pub(super) fn public(pem: &str, kind: &[u8]) -> Option<Vec<u8>> {
    let body = |label: &str| {
        let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
        let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
        STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
    };
    if let Some(key) = body("RSA PUBLIC KEY") {
        return (kind == RSA).then_some(key);
    }
    let info = body("PUBLIC KEY")?;
    let (sequence, _) = element(&info, 0x30)?;
    let (algorithm, rest) = element(sequence, 0x30)?;
    let (identifier, _) = element(algorithm, 0x06)?;
    let (bits, _) = element(rest, 0x03)?;
    // The first byte of a bit string is the number of unused bits.
    let key = bits.strip_prefix(&[0])?;
    (identifier == kind).then(|| key.to_vec())
}

/// Takes an element with this tag off: its content, and what follows.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
            (bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    (*first == tag).then(|| rest.split_at_checked(length))?
}
