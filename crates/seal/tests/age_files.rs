//! Files in the format age v1: the test kit of C2SP, and what a backup needs of the format.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test's helpers may fail it")]

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_seal::{AgeIdentity, AgeReader, AgeRecipient, AgeWriter, MAX_RECIPIENTS, SealError, is_age};
use proptest::prelude::*;
use serde::Deserialize;
use sha2::{Digest, Sha256};

const CHUNK: usize = 64 << 10;

/// C2SP age, "The X25519 recipient type": the example.
const IDENTITY: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
const RECIPIENT: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

fn identity() -> AgeIdentity {
    IDENTITY.parse().unwrap()
}

fn encrypt(content: &[u8], recipients: &[AgeRecipient]) -> Vec<u8> {
    let mut writer = AgeWriter::new(Vec::new(), recipients).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

/// What was decrypted before the end or an error, and the error.
fn decrypt(file: &[u8], identities: &[AgeIdentity]) -> Result<(Vec<u8>, Option<io::Error>), SealError> {
    let mut content = Vec::new();
    let error = AgeReader::new(file, identities)?.read_to_end(&mut content).err();
    Ok((content, error))
}

fn is_refused(file: &[u8]) -> bool {
    match decrypt(file, &[identity()]) {
        Ok((_, Some(error))) => error.kind() == io::ErrorKind::InvalidData,
        Ok((_, None)) => false,
        Err(error) => !matches!(error, SealError::Io(_)),
    }
}

/// The length of the header, which differs: `age` writes a stanza of random length for nobody.
fn header_length(file: &[u8]) -> usize {
    // A line feed, three hyphens, a space, 43 characters, a line feed.
    file.windows(4).position(|window| window == b"\n---").unwrap() + 49
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    expect: String,
    payload: Option<String>,
    #[serde(default)]
    identity: Vec<String>,
    #[serde(default)]
    passphrase: Vec<String>,
    armored: Option<String>,
    compressed: Option<String>,
    file: String,
}

#[test]
fn the_test_kit_of_c2sp_is_judged_as_it_says() {
    let mut judged: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unsupported = 0;
    let mut wrong = Vec::new();
    for line in include_str!("vectors/age_testkit.ndjson").lines() {
        let vector: Vector = serde_json::from_str(line).unwrap();
        let mut file = STANDARD.decode(&vector.file).unwrap();
        if vector.compressed.is_some() {
            let mut whole = Vec::new();
            flate2::read::ZlibDecoder::new(&file[..]).read_to_end(&mut whole).unwrap();
            file = whole;
        }
        let identities: Vec<AgeIdentity> = vector.identity.iter().filter_map(|text| text.parse().ok()).collect();
        let result = decrypt(&file, &identities);
        // Armor, passphrases and hybrid identities are not read here: the kit lets such vectors be ignored. None of them
        // may be decrypted all the same.
        if vector.armored.is_some() || !vector.passphrase.is_empty() || identities.len() < vector.identity.len() {
            unsupported += 1;
            assert!(!matches!(result, Ok((_, None))), "{}", vector.name);
            continue;
        }
        let expected = match &vector.expect[..] {
            "success" => matches!(result, Ok((_, None))),
            "payload failure" => match &result {
                Ok((_, Some(error))) => error.kind() == io::ErrorKind::InvalidData,
                // The nonce is read with the header.
                Err(SealError::Damaged) => vector.name.ends_with("_nonce"),
                _ => false,
            },
            "no match" => matches!(result, Err(SealError::OtherRecipients)),
            "header failure" => matches!(result, Err(SealError::Damaged | SealError::NotSealed)),
            "HMAC failure" => matches!(result, Err(SealError::Damaged)),
            _ => false,
        };
        if !expected {
            wrong.push(format!("{}: expected {}", vector.name, vector.expect));
        }
        if let (Some(hash), Ok((content, _))) = (&vector.payload, &result) {
            assert_eq!(&format!("{:x}", Sha256::digest(content)), hash, "{}", vector.name);
        }
        let kinds = ["success", "payload failure", "no match", "header failure", "HMAC failure"];
        *judged.entry(kinds.into_iter().find(|kind| *kind == vector.expect).unwrap()).or_default() += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts =
        [("HMAC failure", 1), ("header failure", 31), ("no match", 3), ("payload failure", 18), ("success", 14)];
    assert_eq!(judged, BTreeMap::from(counts));
    assert_eq!(unsupported, 33 + 25 + 18, "armored, passphrases, hybrid");
}

#[test]
fn content_of_every_length_around_a_chunk_comes_back() {
    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 7] {
        let content: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let file = encrypt(&content, &[identity().recipient()]);
        assert!(is_age(&file));
        let (read, error) = decrypt(&file, &[identity()]).unwrap();
        assert!(read == content && error.is_none(), "{length}");
    }
}

#[test]
fn each_recipient_reads_a_file_and_nobody_else() {
    let readers: Vec<AgeIdentity> = (0..MAX_RECIPIENTS).map(|_| AgeIdentity::generate()).collect();
    let recipients: Vec<AgeRecipient> = readers.iter().map(AgeIdentity::recipient).collect();
    let file = encrypt(b"content", &recipients);
    for reader in &readers {
        assert_eq!(decrypt(&file, &[identity(), reader.clone()]).unwrap().0, b"content");
    }
    assert!(matches!(decrypt(&file, &[identity()]), Err(SealError::OtherRecipients)));
    assert!(matches!(decrypt(&file, &[]), Err(SealError::OtherRecipients)));
    let more = [&recipients[..], &recipients[..1]].concat();
    assert!(matches!(AgeWriter::new(Vec::new(), &more), Err(SealError::Recipients)));
    assert!(matches!(AgeWriter::new(Vec::new(), &[]), Err(SealError::Recipients)));
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let content = vec![7; CHUNK + 100];
    let file = encrypt(&content, &[identity().recipient()]);
    let header = header_length(&file);
    // Each place in the header and nonce, around the ends of both chunks, and some between.
    let places = (0..header + 20).chain(header + 20..file.len()).filter(|at| {
        *at < header + 20
            || at.abs_diff(header + 16 + CHUNK + 16) < 20
            || file.len() - at < 20
            || at.is_multiple_of(9973)
    });
    for at in places {
        assert!(is_refused(&file[..at]), "cut at {at} of {}", file.len());
    }
    assert!(is_refused(&[&file[..], &[0]].concat()), "a byte was added");
    assert!(is_refused(&[&file[..], &file[..]].concat()), "the file was repeated");
}

#[test]
fn a_file_with_any_byte_altered_is_refused() {
    let file = encrypt(b"content of a backup", &[identity().recipient()]);
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut altered = file.clone();
            altered[at] ^= 1 << bit;
            assert!(is_refused(&altered), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn chunks_that_are_exchanged_or_lost_are_refused() {
    let file = encrypt(&vec![7; 3 * CHUNK], &[identity().recipient()]);
    let body = file.len() - 3 * (CHUNK + 16);
    let chunk = |n: usize| &file[body + n * (CHUNK + 16)..body + (n + 1) * (CHUNK + 16)];
    let head = &file[..body];
    assert!(!is_refused(&[head, chunk(0), chunk(1), chunk(2)].concat()));
    for chunks in [[1, 0, 2], [0, 0, 2], [2, 1, 0]] {
        assert!(is_refused(&[head, chunk(chunks[0]), chunk(chunks[1]), chunk(chunks[2])].concat()));
    }
    assert!(is_refused(&[head, chunk(0), chunk(2)].concat()));
    assert!(is_refused(&[head, chunk(0), chunk(1)].concat()));
    assert!(is_refused(head));
}

#[test]
fn an_error_is_returned_again_and_nothing_after_it() {
    let mut file = encrypt(&vec![7; 2 * CHUNK], &[identity().recipient()]);
    let at = file.len() - CHUNK - 100;
    file[at] ^= 1;
    let mut reader = AgeReader::new(&file[..], &[identity()]).unwrap();
    let mut content = Vec::new();
    assert!(reader.read_to_end(&mut content).is_err());
    assert_eq!(content.len(), 0, "the altered chunk is the first");
    for _ in 0..3 {
        assert_eq!(reader.read(&mut [0; 16]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}

#[test]
fn a_header_without_end_is_refused_within_its_bound() {
    /// Counts what is read of an endless header.
    struct Endless<'a>(&'a mut usize);
    impl Read for Endless<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let head = b"age-encryption.org/v1\n";
            for byte in to.iter_mut() {
                *byte = head.get(*self.0).copied().unwrap_or(b'a');
                *self.0 += 1;
            }
            Ok(to.len())
        }
    }
    let mut read = 0;
    let reader = BufReader::new(Endless(&mut read));
    assert!(matches!(AgeReader::new(reader, &[identity()]), Err(SealError::Damaged)));
    assert!(read <= 64 << 10, "{read} bytes were read");
    let stanzas = format!("age-encryption.org/v1\n{}", "-> x y\n\n".repeat(100_000));
    assert!(matches!(AgeReader::new(stanzas.as_bytes(), &[identity()]), Err(SealError::Damaged)));
}

#[test]
fn keys_are_written_as_the_specification_writes_them() {
    assert_eq!(identity().recipient().to_string(), RECIPIENT);
    assert_eq!(identity().to_secret_text(), IDENTITY);
    assert_eq!(format!("{:?}", identity()), format!("AgeIdentity({RECIPIENT})"));
    assert_eq!(RECIPIENT.parse::<AgeRecipient>().unwrap().to_string(), RECIPIENT);
    for text in ["", "age1", &RECIPIENT[..61], &RECIPIENT.replace("equnujwj", "equnujwi"), IDENTITY, "ssh-ed25519 AAAA"]
    {
        assert!(matches!(text.parse::<AgeRecipient>(), Err(SealError::Recipient)), "{text}");
    }
    for text in ["", RECIPIENT, &IDENTITY[..73], &IDENTITY.replace('X', "Y")] {
        assert!(matches!(text.parse::<AgeIdentity>(), Err(SealError::Identity)), "{text}");
    }
}

#[test]
fn what_is_no_age_file_is_named_so() {
    for file in [
        &b""[..],
        b"MUSTSEA1",
        b"age-encryption.org/v2\n",
        b"age-encryption.org/v1",
        b"-----BEGIN AGE ENCRYPTED FILE-----\n",
    ] {
        assert!(matches!(decrypt(file, &[identity()]), Err(SealError::NotSealed)));
    }
}

#[test]
fn errors_of_the_reader_below_stay_what_they_are() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
    let file = encrypt(&[7; CHUNK], &[identity().recipient()]);
    let cut = header_length(&file) + 20;
    let mut reader = AgeReader::new(BufReader::new(file[..cut].chain(Broken)), &[identity()]).unwrap();
    assert_eq!(reader.read(&mut [0; 16]).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    let refused = AgeReader::new(BufReader::new(Broken), &[identity()]);
    assert!(matches!(refused, Err(SealError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_near_a_file_are_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>()), 1..5),
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let file = encrypt(b"content", &[identity().recipient()]);
        let mut altered = file.clone();
        for (at, kind, byte) in edits {
            let at = at.index(altered.len());
            match kind {
                0 => altered[at] = byte,
                1 => altered.insert(at, byte),
                _ => drop(altered.remove(at)),
            }
        }
        prop_assert!(altered == file || is_refused(&altered));
        prop_assert!(is_refused(&noise));
        prop_assert!(is_refused(&[b"age-encryption.org/v1\n", &noise[..]].concat()));
    }
}
