use argon2::{Algorithm, Argon2, AssociatedData, ParamsBuilder, Version};

use crate::password::{Hasher, PasswordError, Verdict, check};

/// Cheap: what is tested does not depend on the cost.
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
fn the_hash_of_the_reference_implementation_is_understood() {
    let same = Hasher { m_kib: 256, t: 2, p: 1 };
    assert_eq!(same.verify("password", REFERENCE), Verdict::Match);
    assert_eq!(same.verify("Password", REFERENCE), Verdict::Mismatch);
    assert_eq!(QUICK.verify("password", REFERENCE), Verdict::MatchRehash);
    assert_eq!(Hasher::default().verify("password", REFERENCE), Verdict::MatchRehash);
    assert_eq!(Hasher::default().verify("password", &REFERENCE.replace("argon2id", "argon2i")), Verdict::Mismatch);
}

#[test]
fn the_default_is_the_contracts_and_stands_in_the_hash() {
    assert_eq!(Hasher::default(), Hasher { m_kib: 19_456, t: 2, p: 1 });
    assert!(QUICK.hash("correct horse").unwrap().starts_with("$argon2id$v=19$m=32,t=1,p=1$"));
}

#[test]
fn two_hashes_of_one_password_differ_and_both_match() {
    let (one, two) = (QUICK.hash("correct horse").unwrap(), QUICK.hash("correct horse").unwrap());
    assert_ne!(one, two);
    assert_eq!(QUICK.verify("correct horse", &one), Verdict::Match);
    assert_eq!(QUICK.verify("correct horse", &two), Verdict::Match);
    assert_eq!(QUICK.verify("correct hors", &two), Verdict::Mismatch);
    assert_eq!(QUICK.verify("", &two), Verdict::Mismatch);
}

#[test]
fn a24_long_passwords_nul_bytes_and_unicode_twins_have_a_defined_end() {
    assert_eq!(QUICK.hash(&"x".repeat(1_025)), Err(PasswordError::TooLong));
    assert_eq!(check(&"x".repeat(1 << 20)), Err(PasswordError::TooLong));
    assert_eq!(QUICK.hash("pass\0word"), Err(PasswordError::Nul));
    let longest = "x".repeat(1_024);
    let hash = QUICK.hash(&longest).unwrap();
    assert_eq!(QUICK.verify(&longest, &hash), Verdict::Match);
    assert_eq!(QUICK.verify(&format!("{longest}x"), &hash), Verdict::Mismatch);
    assert_eq!(QUICK.verify(&longest[1..], &hash), Verdict::Mismatch);
    // é as one character and as e with an accent; and the sign for ångström, which is another character for Å.
    let hash = QUICK.hash("caf\u{e9} \u{c5}").unwrap();
    assert_eq!(QUICK.verify("cafe\u{301} A\u{30a}", &hash), Verdict::Match);
    assert_eq!(QUICK.verify("cafe\u{301} \u{212b}", &hash), Verdict::Match);
    assert_eq!(QUICK.verify("cafe A", &hash), Verdict::Mismatch);
    // U+0958 becomes two characters in NFC: six bytes of three.
    assert_eq!(check(&"\u{958}".repeat(341)), Err(PasswordError::TooLong));
}

#[test]
fn nobody_knows_the_password_of_the_dummy() {
    let dummy = QUICK.dummy().unwrap();
    assert!(dummy.starts_with("$argon2id$v=19$m=32,t=1,p=1$"));
    assert_ne!(dummy, QUICK.dummy().unwrap());
    for guess in ["", "dummy", "password"] {
        assert_eq!(QUICK.verify(guess, &dummy), Verdict::Mismatch);
    }
}

#[test]
fn what_is_no_hash_or_costs_too_much_is_a_mismatch() {
    for phc in ["", "$", "password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ", "$2b$12$abcdefghijklmnopqrstuv"] {
        assert_eq!(QUICK.verify("password", phc), Verdict::Mismatch, "{phc}");
    }
    let huge = REFERENCE.replace("m=256,t=2", "m=4194304,t=9000");
    assert_eq!(QUICK.verify("password", &huge), Verdict::Mismatch);
    assert_eq!(Hasher { m_kib: 1, t: 0, p: 0 }.hash("x"), Err(PasswordError::Parameters));
}
