use proptest::prelude::*;
use serde_json::{Value, json};

use super::hostname::{Host, is_of};
use super::*;

/// The certificate of the reference vector.
const PEM: &str = "-----BEGIN CERTIFICATE-----\nMIIBBTCBuKADAgECAgMS1ocwBQYDK2VwMBYxFDASBgNVBAMMC2V4YW1wbGUub3Jn\nMB4XDTI2MDEwMTAwMDAwMFoXDTI2MDQwMTAwMDAwMFowFjEUMBIGA1UEAwwLZXhh\nbXBsZS5vcmcwKjAFBgMrZXADIQADoQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZk\nElUxuKMpMCcwJQYDVR0RBB4wHIILZXhhbXBsZS5vcmeCDSouZXhhbXBsZS5vcmcw\nBQYDK2VwA0EAiSIzXtxWRBRB14M2RIFVb7DzMJ6LsWuYtbMGXSIPGRKoLj4MP+2Q\n0R9s9tqrq1dnjHOEZxkGXS3io8OwHvPkDg==\n-----END CERTIFICATE-----\n";

fn run_on(certificate: &str) -> Result<Value, Failure> {
    crate::FAMILY.run(134, json!({ "certificate": certificate }), &Context::default())
}

/// RFC 9525, 6.3, and the rows of RFC 6125, 6.4.3.
#[test]
fn a_wildcard_is_the_whole_first_label() {
    for (host, pattern, of) in [
        ("www.example.org", "*.example.org", true),
        ("www.example.org", "WWW.Example.ORG", true),
        ("example.org", "*.example.org", false),
        ("a.b.example.org", "*.example.org", false),
        ("www.example.org", "w*.example.org", false),
        ("www.example.org", "www.*.org", false),
        ("www.example.org", "*.*.org", false),
        ("org", "*", false),
    ] {
        assert_eq!(is_of(host, pattern), of, "{host} {pattern}");
    }
    assert!(Host::read("bücher.example").is_err() && Host::read("a..b").is_err() && Host::read("").is_err());
    assert_eq!(Host::read("[2001:db8::1]").unwrap(), Host::Address("2001:db8::1".parse().unwrap()));
}

/// Each flipped bit is an error, or a signature that is not the key's, or a byte outside of what is signed.
#[test]
fn a_changed_certificate_is_not_taken_for_the_signed_one() {
    let der = ders(PEM).unwrap().remove(0);
    // The outer signature algorithm is not signed; of its 7 bytes the parser checks no tag.
    let outer = 191..198;
    for at in (0..der.len()).filter(|at| !outer.contains(at)) {
        let mut changed = der.clone();
        changed[at] ^= 1;
        let Ok(output) = run_on(&STANDARD.encode(&changed)) else { continue };
        let codes = output["problems"].to_string();
        let found = ["signature-", "issuer-absent"].iter().any(|code| codes.contains(code));
        assert!(found, "byte {at}: {output}");
    }
    assert!(!run_on(PEM).unwrap()["problems"].to_string().contains("signature-"));
}

proptest! {
    #[test]
    fn damaged_certificates_end(cut in 0..265_usize, at in 0..265_usize, byte in any::<u8>()) {
        let mut der = ders(PEM).unwrap().remove(0);
        if let Some(slot) = der.get_mut(at) {
            *slot = byte;
        }
        der.truncate(cut.max(1));
        let outcome = run_on(&STANDARD.encode(&der));
        let ended = matches!(outcome, Ok(_) | Err(Failure::Invalid { .. }));
        prop_assert!(ended, "{:?}", outcome);
    }
}
