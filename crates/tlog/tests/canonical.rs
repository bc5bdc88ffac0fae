//! Canonical JSON against the published vectors of RFC 8785, and entries made of it.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

use muster_tlog::canonical::{CanonicalError, MAX_DEPTH, parse_unambiguous, to_canonical};
use muster_tlog::{Leaf, LeafError, MAX_LEAF, Outcome, Salt, commitment, fingerprint};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn canonical(text: &str) -> Result<String, CanonicalError> {
    to_canonical(&parse_unambiguous(text.as_bytes())?)
}

#[test]
fn the_files_of_the_reference_implementation_are_written_alike() {
    macro_rules! pair {
        ($name:literal) => {
            (
                $name,
                include_str!(concat!("vectors/jcs/", $name, ".input.json")),
                include_str!(concat!("vectors/jcs/", $name, ".output.json")),
            )
        };
    }
    for (name, input, output) in
        [pair!("arrays"), pair!("french"), pair!("structures"), pair!("unicode"), pair!("values"), pair!("weird")]
    {
        assert_eq!(canonical(input).as_deref(), Ok(output), "{name}");
        assert_eq!(canonical(output).as_deref(), Ok(output), "{name}");
    }
}

#[test]
fn numbers_are_written_as_ecmascript_writes_them() {
    // RFC 8785, appendix B.
    for (bits, text) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(to_canonical(&json!(f64::from_bits(bits))).as_deref(), Ok(text));
    }
    for not_finite in [f64::NAN, f64::INFINITY] {
        assert_eq!(to_canonical(&json!(not_finite)).as_deref(), Ok("null"), "serde_json makes it null before");
    }
}

/// The values of cyberphone/json-canonicalization, `testdata/numgen.go`.
fn generated_numbers() -> impl Iterator<Item = f64> {
    const STATIC: &[u64] = &[
        0x0000_0000_0000_0000,
        0x8000_0000_0000_0000,
        0x0000_0000_0000_0001,
        0x8000_0000_0000_0001,
        0xc466_9669_5dbd_1cc3,
        0xc432_11ed_e497_4a35,
        0xc3fc_e97c_a0f2_1056,
        0xc3c7_2130_80c1_a6ac,
        0xc392_80f3_9a34_8556,
        0xc35d_9b1f_5d20_d557,
        0xc327_af4c_4a80_aaac,
        0xc2f2_f2a3_6ecd_5556,
        0xc2be_5105_7e15_5558,
        0xc288_40d1_31aa_aaac,
        0xc253_670d_c155_5557,
        0xc21f_0b49_3555_5557,
        0xc1e8_d5d4_2aaa_aaac,
        0xc1b3_de43_5555_5556,
        0xc17f_ca05_5555_5556,
        0xc149_6e6a_aaaa_aaab,
        0xc114_5855_5555_5555,
        0xc0e0_46aa_aaaa_aaab,
        0xc0aa_0aaa_aaaa_aaaa,
        0xc074_d555_5555_5555,
        0xc040_aaaa_aaaa_aaab,
        0xc00a_aaaa_aaaa_aaab,
        0xbfd5_5555_5555_5555,
        0xbfa1_1111_1111_1111,
        0xbf6b_4e81_b4e8_1b4f,
        0xbf35_d867_c3ec_e2a5,
        0xbf01_79ec_9cbd_821e,
        0xbecb_f647_612f_3696,
        0xbe96_5e9f_80f2_9212,
        0xbe61_e54c_6728_74db,
        0xbe2c_a213_d840_baf8,
        0xbdf6_e80f_e033_c8c6,
        0xbdc2_533f_e68f_d3d2,
        0xbd8d_51ff_d74c_861c,
        0xbd57_74cc_ac3d_3817,
        0xbd22_c3d6_f030_f9ac,
        0xbcee_0624_b381_8f79,
        0xbcb8_04ea_2934_72c7,
        0xbc83_3721_ba90_5bd3,
        0xbc4e_be9c_5db3_c61e,
        0xbc18_987d_17c3_04e5,
        0xbbe3_ad30_dfcf_371d,
        0xbbaf_7b81_6618_582f,
        0xbb79_2f9a_b813_79bf,
        0xbb44_2615_600f_9499,
        0xbb10_1e77_800c_76e1,
        0xbad9_ca58_cce0_be35,
        0xbaa4_a1e0_a3e6_fe90,
        0xba70_8180_831f_320d,
        0xba3a_68cd_9e98_5016,
        0x4466_9669_5dbd_1cc3,
        0x4432_11ed_e497_4a35,
        0x43fc_e97c_a0f2_1056,
        0x43c7_2130_80c1_a6ac,
        0x4392_80f3_9a34_8556,
        0x435d_9b1f_5d20_d557,
        0x4327_af4c_4a80_aaac,
        0x42f2_f2a3_6ecd_5556,
        0x42be_5105_7e15_5558,
        0x4288_40d1_31aa_aaac,
        0x4253_670d_c155_5557,
        0x421f_0b49_3555_5557,
        0x41e8_d5d4_2aaa_aaac,
        0x41b3_de43_5555_5556,
        0x417f_ca05_5555_5556,
        0x4149_6e6a_aaaa_aaab,
        0x4114_5855_5555_5555,
        0x40e0_46aa_aaaa_aaab,
        0x40aa_0aaa_aaaa_aaaa,
        0x4074_d555_5555_5555,
        0x4040_aaaa_aaaa_aaab,
        0x400a_aaaa_aaaa_aaab,
        0x3fd5_5555_5555_5555,
        0x3fa1_1111_1111_1111,
        0x3f6b_4e81_b4e8_1b4f,
        0x3f35_d867_c3ec_e2a5,
        0x3f01_79ec_9cbd_821e,
        0x3ecb_f647_612f_3696,
        0x3e96_5e9f_80f2_9212,
        0x3e61_e54c_6728_74db,
        0x3e2c_a213_d840_baf8,
        0x3df6_e80f_e033_c8c6,
        0x3dc2_533f_e68f_d3d2,
        0x3d8d_51ff_d74c_861c,
        0x3d57_74cc_ac3d_3817,
        0x3d22_c3d6_f030_f9ac,
        0x3cee_0624_b381_8f79,
        0x3cb8_04ea_2934_72c7,
        0x3c83_3721_ba90_5bd3,
        0x3c4e_be9c_5db3_c61e,
        0x3c18_987d_17c3_04e5,
        0x3be3_ad30_dfcf_371d,
        0x3baf_7b81_6618_582f,
        0x3b79_2f9a_b813_79bf,
        0x3b44_2615_600f_9499,
        0x3b10_1e77_800c_76e1,
        0x3ad9_ca58_cce0_be35,
        0x3aa4_a1e0_a3e6_fe90,
        0x3a70_8180_831f_320d,
        0x3a3a_68cd_9e98_5016,
        0x4024_0000_0000_0000,
        0x4014_0000_0000_0000,
        0x3fe0_0000_0000_0000,
        0x3fa9_9999_9999_999a,
        0x3f74_7ae1_47ae_147b,
        0x3f40_624d_d2f1_a9fc,
        0x3f0a_36e2_eb1c_432d,
        0x3ed4_f8b5_88e3_68f1,
        0x3ea0_c6f7_a0b5_ed8d,
        0x3e6a_d7f2_9abc_af48,
        0x3e35_798e_e230_8c3a,
        0x3ed5_3922_3589_fa95,
        0x3ed4_ff26_cd5a_7781,
        0x3ed4_f95a_7622_83ff,
        0x3ed4_f8c6_0703_520c,
        0x3ed4_f8b7_2f19_cd0d,
        0x3ed4_f8b5_b31c_0c8d,
        0x3ed4_f8b5_8d1c_461a,
        0x3ed4_f8b5_894f_7f0e,
        0x3ed4_f8b5_88ee_37f3,
        0x3ed4_f8b5_88e4_7da4,
        0x3ed4_f8b5_88e3_849c,
        0x3ed4_f8b5_88e3_6bb5,
        0x3ed4_f8b5_88e3_6937,
        0x3ed4_f8b5_88e3_68f8,
        0x3ed4_f8b5_88e3_68f1,
        0x3ff0_0000_0000_0000,
        0xbff0_0000_0000_0000,
        0xbfef_ffff_ffff_fffa,
        0xbfef_ffff_ffff_fffb,
        0x3fef_ffff_ffff_fffa,
        0x3fef_ffff_ffff_fffb,
        0x3fef_ffff_ffff_fffc,
        0x3fef_ffff_ffff_fffe,
        0xbfef_ffff_ffff_ffff,
        0xbfef_ffff_ffff_ffff,
        0x3fef_ffff_ffff_ffff,
        0x3fef_ffff_ffff_ffff,
        0x3fd3_3333_3333_3332,
        0x3fd3_3333_3333_3333,
        0x3fd3_3333_3333_3334,
        0x0010_0000_0000_0000,
        0x000f_ffff_ffff_fffd,
        0x000f_ffff_ffff_ffff,
        0x7fef_ffff_ffff_ffff,
        0xffef_ffff_ffff_ffff,
        0x4340_0000_0000_0000,
        0xc340_0000_0000_0000,
        0x4430_0000_0000_0000,
        0x44b5_2d02_c7e1_4af5,
        0x44b5_2d02_c7e1_4af6,
        0x44b5_2d02_c7e1_4af7,
        0x444b_1ae4_d6e2_ef4e,
        0x444b_1ae4_d6e2_ef4f,
        0x444b_1ae4_d6e2_ef50,
        0x3eb0_c6f7_a0b5_ed8c,
        0x3eb0_c6f7_a0b5_ed8d,
        0x41b3_de43_5555_5553,
        0x41b3_de43_5555_5554,
        0x41b3_de43_5555_5555,
        0x41b3_de43_5555_5556,
        0x41b3_de43_5555_5557,
        0xbecb_f647_612f_3696,
        0x4314_3ff3_c1cb_0959,
    ];
    let serial = (0..2000).map(|number| 0x0010_0000_0000_0000 + number);
    let mut block = [0_u8; 32];
    let random = std::iter::from_fn(move || {
        block = Sha256::digest(block).into();
        Some(block)
    });
    let random = random.flat_map(|block| {
        let (words, _) = block.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()
    });
    let usable = random.filter(|bits| {
        let number = f64::from_bits(*bits);
        number != 0.0 && number.is_finite()
    });
    STATIC.iter().copied().chain(serial).chain(usable).map(f64::from_bits)
}

#[test]
fn a_hundred_thousand_numbers_have_the_published_checksums() {
    // testdata/README.md of cyberphone/json-canonicalization, which is cited by RFC 8785, appendix F.
    let mut hash = Sha256::new();
    for (number, line) in generated_numbers().take(100_000).enumerate() {
        let text = to_canonical(&json!(line)).unwrap();
        hash.update(format!("{:x},{text}\n", line.to_bits()));
        let expected = match number + 1 {
            1000 => "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
            10_000 => "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892",
            100_000 => "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7",
            _ => continue,
        };
        assert_eq!(format!("{:x}", hash.clone().finalize()), expected, "{} lines", number + 1);
    }
}

#[test]
fn members_are_sorted_by_utf_16_code_units() {
    // RFC 8785, section 3.2.3: U+1F600 is written with surrogates, so it is before U+FB33.
    let text = "{\"\u{20ac}\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}";
    let expected = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
    assert_eq!(canonical(text).as_deref(), Ok(expected));
}

#[test]
fn what_readers_understand_differently_has_no_canonical_form() {
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"[{"b":{"a":1,"a":2}}]"#,
        r#""\ud800""#,
        r#"{"\udc00":1}"#,
        r#""\ud800\u0041""#,
        "[1] 2",
        "[1,]",
        "01",
        "1e400",
        "NaN",
        "",
        "\u{feff}1",
    ] {
        assert!(matches!(canonical(text), Err(CanonicalError::Text(_))), "{text}");
    }
    assert!(parse_unambiguous(b"\"\xff\"").is_err());
    for text in ["9007199254740992", "9007199254740993", "-9007199254740992", "18446744073709551615"] {
        assert_eq!(canonical(text), Err(CanonicalError::Integer(text.to_owned())));
        assert!(canonical(&format!("{{\"a\":[{text}]}}")).is_err());
    }
    assert_eq!(
        canonical("[9007199254740991,-9007199254740991,-0,-0.0,1.0,1e2]").as_deref(),
        Ok("[9007199254740991,-9007199254740991,0,0,1,100]")
    );
    // A name that serde_json uses inside stays a name.
    let private = r#"{"$serde_json::private::RawValue":"[1,  2]"}"#;
    assert_eq!(canonical(private).as_deref(), Ok(private));
}

#[test]
fn deep_values_are_refused_however_they_come() {
    let nested = |depth: u8| (0..depth).fold(Value::Null, |inner, _| json!([inner]));
    assert!(to_canonical(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(to_canonical(&nested(MAX_DEPTH + 1)), Err(CanonicalError::Depth));
    let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(canonical(&text).is_err());
    assert!(canonical(&text[..100_001]).is_err());
}

#[test]
fn the_example_of_the_contract_is_written_and_signed_alike() {
    // Contract 6, section 4; the key is that of the seed 00, 01, … 1f.
    let payload = r#"{"body":{"name":"ci","scopes":["admin"]},"method":"POST","path":"/api/v1/keys","query":{}}"#;
    let shuffled =
        json!({"query": {}, "path": "/api/v1/keys", "method": "POST", "body": {"scopes": ["admin"], "name": "ci"}});
    assert_eq!(to_canonical(&shuffled).as_deref(), Ok(payload));
    let digest = format!("{:x}", Sha256::digest(payload));
    assert_eq!(digest, "79129117d7c0deb8d20086dfe3eae67a995b3004e6ba1891c47af05d61f0a3b4");
    let decision = json!({
        "role": "security",
        "risk": "high",
        "resource": "ci",
        "payload_sha256": digest,
        "nonce": "1.ins_01M7YDTJE1MZAKGMBTXXHWSY3W.usr_01M7ZC2GXH0005F7FKJW5QGHJ6.1795300000.0.DIpKxQVMTAj3ms0QfPOOuw",
        "decision": "approve",
        "approval_id": "apr_01M80CK5DR000F9XJ3699Z53V0",
        "action": "key.grant",
    });
    let seed: Vec<u8> = (0..32).collect();
    let key = ed25519_dalek::SigningKey::from_bytes(&seed.try_into().unwrap());
    let signature = ed25519_dalek::Signer::sign(&key, to_canonical(&decision).unwrap().as_bytes());
    use base64::Engine;
    assert_eq!(
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(signature.to_bytes()),
        "bi4ejBenJul3X--G8i9hx2mCpGN8FnV9uCe9cYtUFfHhBD0Gk4xxSiak6VA-Zb5O-qjgG91QifQcI15SyKLnAQ"
    );
}

fn leaf() -> Leaf {
    let text = |text: &str| text.to_owned();
    let (id, at) = (text("aud_01M80CK5DR000F9XJ3699Z53V0"), text("2026-11-26T02:00:00Z"));
    Leaf::new(id, at, text("usr_01M7ZC2GXH0005F7FKJW5QGHJ6"), text("key.grant"), text("ci"), Outcome::Ok)
}

#[test]
fn an_entry_is_its_canonical_bytes() {
    let mut leaf = leaf();
    assert_eq!(
        leaf.to_bytes().unwrap(),
        br#"{"action":"key.grant","actor":"usr_01M7ZC2GXH0005F7FKJW5QGHJ6","at":"2026-11-26T02:00:00Z","id":"aud_01M80CK5DR000F9XJ3699Z53V0","outcome":"ok","resource":"ci","v":2}"#
    );
    leaf.details = Some(commitment(Salt::new([7; 16]), &json!({"name": "ci"})).unwrap());
    leaf.after = Some(fingerprint(&json!({"scopes": ["admin"]})).unwrap());
    assert_eq!(Leaf::from_bytes(&leaf.to_bytes().unwrap()), Ok(leaf.clone()));
    leaf.resource = "x".repeat(MAX_LEAF);
    assert!(matches!(leaf.to_bytes(), Err(LeafError::TooLong(_))));
}

#[test]
fn bytes_that_are_no_entry_are_refused() {
    let text = String::from_utf8(leaf().to_bytes().unwrap()).unwrap();
    let read = |text: &str| Leaf::from_bytes(text.as_bytes());
    assert_eq!(read(&text), Ok(leaf()));
    assert_eq!(read(&text.replace("\"outcome\":\"ok\"", "\"outcome\": \"ok\"")), Err(LeafError::NotCanonical));
    assert_eq!(read(&text.replace("ci\",\"v\"", "\\u0063i\",\"v\"")), Err(LeafError::NotCanonical));
    assert_eq!(read(&format!("{text}\n")), Err(LeafError::NotCanonical));
    for (from, to) in [
        ("\"v\":2", "\"v\":1"),
        ("\"v\":2", "\"v\":\"2\""),
        ("\"v\":2", "\"v\":2,\"x\":1"),
        ("\"ok\"", "\"done\""),
        ("\"resource\":\"ci\",", ""),
        ("\"ci\"", "null"),
    ] {
        assert!(matches!(read(&text.replace(from, to)), Err(LeafError::Members(_))), "{to}");
    }
    assert!(matches!(read(&"x".repeat(MAX_LEAF + 1)), Err(LeafError::TooLong(_))));
}

#[test]
fn commitments_are_hashes_of_salt_and_canonical_details() {
    // printf 'salt salt salt s{"a":[1,"x"],"b":null}' | openssl dgst -sha256 -binary | basenc --base64url
    let salt = Salt::new(*b"salt salt salt s");
    let details = json!({"b": null, "a": [1.0, "x"]});
    assert_eq!(commitment(salt, &details).as_deref(), Ok("_jtiIuoToCpO_9rKT2XwQOPkMLf-jW0O_xCOL2Mp_qA"));
    // printf '{"a":[1,"x"],"b":null}' | …
    assert_eq!(fingerprint(&details).as_deref(), Ok("hU7wbcV_Xf7RAgY0SrLQLgtshLDhlDZwOlr9Dx-fJoc"));
    assert_eq!(Salt::from_base64url(&salt.to_base64url()), Some(salt));
    assert_eq!(format!("{salt:?}"), "Salt");
    for text in ["", "AAAA", "c2FsdCBzYWx0IHNhbHQgc=", "c2FsdCBzYWx0IHNhbHQgcx", "c2FsdCBzYWx0IHNhbHQgcw=="] {
        assert_eq!(Salt::from_base64url(text), None, "{text}");
    }
}
