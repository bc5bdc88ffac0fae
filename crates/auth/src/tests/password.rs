use argon2::{Algorithm, Argon2, AssociatedData, ParamsBuilder, Version};

use crate::password::{Hasher, PasswordError, PasswordMatch, check};

/// Cheap parameters: the results do not depend on the cost.
const QUICK: Hasher = Hasher { m_kib: 32, t: 1, p: 1 };

/// From the reference implementation's test.c (argon2id, version 0x13, m=256, t=2, p=1).
const REFERENCE: &str = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

#[test]
fn rfc_9106_5_3_the_argon2id_vector() {
    let params = ParamsBuilder::new()
        .m_cost(32)
        .t_cost(3)
        .p_cost(4)
        .data(AssociatedData::new(&[4; 12]).unwrap())
        .output_len(32)
        .build()
        .unwrap();
    let argon2 = Argon2::new_with_secret(&[3; 8], Algorithm::Argon2id, Version::V0x13, params).unwrap();
    let mut tag = [0; 32];
    argon2.hash_password_into(&[1; 32], &[2; 16], &mut tag).unwrap();
    let expected = [
        0x0d, 0x64, 0x0d, 0xf5, 0x8d, 0x78, 0x76, 0x6c, 0x08, 0xc0, 0x37, 0xa3, 0x4a, 0x8b, 0x53, 0xc9, 0xd0, 0x1e,
        0xf0, 0x45, 0x2d, 0x75, 0xb6, 0x5e, 0xb5, 0x25, 0x20, 0xe9, 0x6b, 0x01, 0xe6, 0x59,
    ];
    assert_eq!(tag, expected);
}

#[test]
fn a_hash_of_the_reference_implementation_is_verified() {
    let same = Hasher { m_kib: 256, t: 2, p: 1 };
    assert_eq!(same.verify("password", REFERENCE), PasswordMatch::Match);
    assert_eq!(same.verify("Password", REFERENCE), PasswordMatch::Mismatch);
    assert_eq!(QUICK.verify("password", REFERENCE), PasswordMatch::MatchRehash);
    assert_eq!(Hasher::default().verify("password", REFERENCE), PasswordMatch::MatchRehash);
    assert_eq!(
        Hasher::default().verify("password", &REFERENCE.replace("argon2id", "argon2i")),
        PasswordMatch::Mismatch
    );
}

#[test]
fn the_default_parameters_are_those_of_the_contract() {
    assert_eq!(Hasher::default(), Hasher { m_kib: 19_456, t: 2, p: 1 });
    assert!(QUICK.hash("correct horse").unwrap().starts_with("$argon2id$v=19$m=32,t=1,p=1$"));
}

#[test]
fn two_hashes_of_one_password_differ_and_both_match() {
    let (one, two) = (QUICK.hash("correct horse").unwrap(), QUICK.hash("correct horse").unwrap());
    assert_ne!(one, two);
    assert_eq!(QUICK.verify("correct horse", &one), PasswordMatch::Match);
    assert_eq!(QUICK.verify("correct horse", &two), PasswordMatch::Match);
    assert_eq!(QUICK.verify("correct hors", &two), PasswordMatch::Mismatch);
    assert_eq!(QUICK.verify("", &two), PasswordMatch::Mismatch);
}

#[test]
fn a24_long_passwords_nul_bytes_and_unicode_equivalents_are_handled() {
    assert_eq!(QUICK.hash(&"x".repeat(1_025)), Err(PasswordError::TooLong));
    assert_eq!(check(&"x".repeat(1 << 20)), Err(PasswordError::TooLong));
    assert_eq!(QUICK.hash("pass\0word"), Err(PasswordError::Nul));
    let longest = "x".repeat(1_024);
    let hash = QUICK.hash(&longest).unwrap();
    assert_eq!(QUICK.verify(&longest, &hash), PasswordMatch::Match);
    assert_eq!(QUICK.verify(&format!("{longest}x"), &hash), PasswordMatch::Mismatch);
    assert_eq!(QUICK.verify(&longest[1..], &hash), PasswordMatch::Mismatch);
    // é as one character and as e with a combining accent; and the ångström sign, a different character for Å.
    let hash = QUICK.hash("caf\u{e9} \u{c5}").unwrap();
    assert_eq!(QUICK.verify("cafe\u{301} A\u{30a}", &hash), PasswordMatch::Match);
    assert_eq!(QUICK.verify("cafe\u{301} \u{212b}", &hash), PasswordMatch::Match);
    assert_eq!(QUICK.verify("cafe A", &hash), PasswordMatch::Mismatch);
    // NFC decomposes U+0958 into two characters: three bytes become six.
    assert_eq!(check(&"\u{958}".repeat(341)), Err(PasswordError::TooLong));
}

#[test]
fn no_password_matches_the_dummy_hash() {
    let dummy = QUICK.dummy().unwrap();
    assert!(dummy.starts_with("$argon2id$v=19$m=32,t=1,p=1$"));
    assert_ne!(dummy, QUICK.dummy().unwrap());
    for guess in ["", "dummy", "password"] {
        assert_eq!(QUICK.verify(guess, &dummy), PasswordMatch::Mismatch);
    }
}

#[test]
fn malformed_and_too_expensive_hashes_are_mismatches() {
    for phc in ["", "$", "password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ", "$2b$12$abcdefghijklmnopqrstuv"] {
        assert_eq!(QUICK.verify("password", phc), PasswordMatch::Mismatch, "{phc}");
    }
    let huge = REFERENCE.replace("m=256,t=2", "m=4194304,t=9000");
    assert_eq!(QUICK.verify("password", &huge), PasswordMatch::Mismatch);
    assert_eq!(Hasher { m_kib: 1, t: 0, p: 0 }.hash("x"), Err(PasswordError::Parameters));
}
