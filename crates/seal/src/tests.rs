use std::io::{Read, Write};

use proptest::prelude::*;

use super::passphrase::Costs;
use super::*;

/// The results do not depend on the costs.
const QUICK: Costs = Costs { m_kib: 32, t: 1, p: 1 };
const WORDS: &str = "correct horse battery staple";

fn passphrase() -> Passphrase {
    Passphrase::new(WORDS).unwrap()
}

fn seal(content: &[u8]) -> Vec<u8> {
    let sealer = Sealer::with_salt(&passphrase(), [7; 16], QUICK).unwrap();
    let mut writer = SealWriter::with_sealer(Vec::new(), sealer).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

fn open(sealed: &[u8], words: &str) -> Result<Vec<u8>, SealError> {
    let mut content = Vec::new();
    OpenReader::new(sealed, &Passphrase::new(words).unwrap())?.read_to_end(&mut content)?;
    Ok(content)
}

fn is_damaged(sealed: &[u8]) -> bool {
    match open(sealed, WORDS) {
        Err(SealError::Io(error)) => error.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

#[test]
fn content_of_every_length_around_a_chunk_comes_back() {
    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 7] {
        let content: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let sealed = seal(&content);
        assert_eq!(sealed.len() as u64, sealed_size(length as u64), "{length}");
        assert!(is_sealed(&sealed) && open(&sealed, WORDS).unwrap() == content, "{length}");
    }
}

#[test]
fn the_passphrase_must_be_right_and_long_enough() {
    let sealed = seal(b"content");
    assert!(matches!(open(&sealed, "correct horse battery stapler"), Err(SealError::WrongPassphrase)));
    assert_eq!(open(&sealed, &format!("{WORDS}\n")).unwrap(), b"content", "a key file ends with a line feed");
    for wrong in ["elevenbytes", "           elevenbytes ", &"x".repeat(4097)] {
        assert!(matches!(Passphrase::new(wrong), Err(SealError::PassphraseLength)), "{wrong}");
    }
    assert!(!format!("{:?}", passphrase()).contains("horse"));
}

#[test]
fn two_files_of_one_passphrase_and_content_have_nothing_in_common() {
    let sealed = || {
        let mut writer = SealWriter::new(Vec::new(), &passphrase()).unwrap();
        writer.write_all(b"the same content").unwrap();
        writer.finish().unwrap()
    };
    let (one, two) = (sealed(), sealed());
    // Magic and costs are the same; salt, check and content are not.
    assert!(one[..20] == two[..20] && one[20..36] != two[20..36] && one[52..] != two[52..]);
    assert_eq!(open(&one, WORDS).unwrap(), b"the same content");
}

/// The construction, put together from RFC 8439 by hand.
#[test]
fn a_chunk_is_chacha20_poly1305_under_its_number_with_the_header_as_associated_data() {
    use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
    let content = vec![1; CHUNK + 3];
    let sealed = seal(&content);
    let params = argon2::Params::new(32, 1, 1, Some(48)).unwrap();
    let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    let mut key = [0; 48];
    argon2.hash_password_into(WORDS.as_bytes(), &sealed[20..36], &mut key).unwrap();
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key[..32]).unwrap());
    let header = &sealed[..52];
    let (first, last) = sealed[52..].split_at(CHUNK + 16);
    for (chunk, nonce, expected) in [
        (first, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &content[..CHUNK]),
        (last, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], &content[CHUNK..]),
    ] {
        let mut chunk = chunk.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        assert_eq!(key.open_in_place(nonce, Aad::from(header), &mut chunk).unwrap(), expected);
    }
}

#[test]
fn chunks_cannot_be_moved_repeated_left_out_or_added() {
    let content: Vec<u8> = (0..4 * CHUNK + 9).map(|n| (n / CHUNK) as u8).collect();
    let sealed = seal(&content);
    let (header, chunks) = sealed.split_at(52);
    let chunks: Vec<_> = chunks.chunks(CHUNK + 16).collect();
    let file = |order: &[usize]| [header, &order.iter().map(|&n| chunks[n]).collect::<Vec<_>>().concat()].concat();
    assert_eq!(open(&file(&[0, 1, 2, 3, 4]), WORDS).unwrap(), content);
    for order in
        [&[1, 0, 2, 3, 4][..], &[0, 0, 1, 2, 3, 4], &[0, 2, 3, 4], &[0, 1, 2, 3], &[0, 1, 2, 3, 4, 4], &[4], &[0], &[]]
    {
        assert!(is_damaged(&file(order)), "{order:?}");
    }
    assert!(is_damaged(&[sealed.as_slice(), b"x"].concat()), "something appended");
}

#[test]
fn a_header_that_asks_for_too_much_is_refused_before_it_is_done() {
    for (at, number) in [(8, u32::MAX), (12, 17), (16, 17), (8, 0), (16, 0)] {
        let mut sealed = seal(b"content");
        sealed[at..at + 4].copy_from_slice(&number.to_le_bytes());
        assert!(matches!(open(&sealed, WORDS), Err(SealError::TooCostly)), "{at} {number}");
    }
    for plain in [&b""[..], b"MUSTSNP1", &[0; 100]] {
        assert!(matches!(open(plain, WORDS), Err(SealError::NotSealed)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// No flipped bit and no cut is accepted, and nothing is returned that was not sealed.
    #[test]
    fn every_change_is_detected(length in 0_usize..CHUNK * 2, at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let content: Vec<u8> = (0..length).map(|n| (n % 253) as u8).collect();
        let sealed = seal(&content);
        let at = at.index(sealed.len());
        let mut flipped = sealed.clone();
        flipped[at] ^= 1 << bit;
        prop_assert!(open(&flipped, WORDS).is_err());
        prop_assert!(open(&sealed[..at], WORDS).is_err());
        let mut read = Vec::new();
        if let Ok(mut reader) = OpenReader::new(&flipped[..], &passphrase()) {
            let _ = reader.read_to_end(&mut read);
        }
        prop_assert!(content.starts_with(&read));
    }

    /// However it is written and read, the same content comes back.
    #[test]
    fn pieces_of_any_size_are_the_same(pieces in prop::collection::vec(0_usize..100_000, 0..6), step in 1_usize..70_000) {
        let sealer = Sealer::with_salt(&passphrase(), [9; 16], QUICK).unwrap();
        let mut writer = SealWriter::with_sealer(Vec::new(), sealer).unwrap();
        let mut content = Vec::new();
        for (n, size) in pieces.into_iter().enumerate() {
            writer.write_all(&vec![n as u8; size]).unwrap();
            content.extend(vec![n as u8; size]);
        }
        let sealed = writer.finish().unwrap();
        prop_assert_eq!(sealed.len() as u64, sealed_size(content.len() as u64));
        let mut reader = OpenReader::new(&sealed[..], &passphrase()).unwrap();
        let (mut read, mut piece) = (Vec::new(), vec![0; step]);
        loop {
            let count = reader.read(&mut piece).unwrap();
            if count == 0 { break }
            read.extend_from_slice(&piece[..count]);
        }
        prop_assert_eq!(read, content);
    }
}
