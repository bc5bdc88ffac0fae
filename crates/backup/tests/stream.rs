//! The signed stream: what was written comes back, and nothing else is accepted.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test's helpers may fail it")]

use std::io::{self, Read, Write};

use muster_backup::{Header, MAGIC, SIGNATURE, SignatureError, SignedReader, SignedWriter, Trust, is_signed};
use muster_tlog::{Checkpoint, Hash, NoteSigner, SignatureType, VerifierKey};
use proptest::prelude::*;

const NAME: &str = "muster.example.org";
const ORIGIN: &str = "muster.example.org/audit/1";

fn signer(seed: u8) -> NoteSigner {
    NoteSigner::new(ORIGIN, SignatureType::Ed25519, &[seed; 32]).unwrap()
}

fn header() -> Header {
    Header::new("ins_01M7YDTJE1MZAKGMBTXXHWSY3W".to_owned(), NAME, 1, "2026-11-26T02:00:00.000Z".to_owned())
}

fn with_checkpoint(seed: u8) -> Header {
    let note = Checkpoint::new(ORIGIN.to_owned(), 3, Hash::of_leaf(b"x")).sign(&[&signer(seed)]).unwrap();
    Header { checkpoint: Some(note.to_string()), ..header() }
}

fn written(header: Header, seeds: &[u8], content: &[u8]) -> Vec<u8> {
    let signers = seeds.iter().map(|seed| signer(*seed)).collect();
    let mut writer = SignedWriter::new(Vec::new(), header, signers).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

fn read(file: &[u8], trust: &Trust) -> Result<Vec<u8>, SignatureError> {
    let mut content = Vec::new();
    SignedReader::new(file, trust)?.read_to_end(&mut content)?;
    Ok(content)
}

fn trusting(seeds: &[u8]) -> Trust {
    Trust::Keys(seeds.iter().map(|seed| signer(*seed).public().clone()).collect())
}

fn is_invalid(found: &Result<Vec<u8>, SignatureError>) -> bool {
    matches!(found, Err(SignatureError::Io(error)) if error.kind() == io::ErrorKind::InvalidData)
}

#[test]
fn content_of_every_length_around_a_block_comes_back_with_its_header() {
    for length in [0, 1, 63, 64, 65, 65_535, 65_536, 65_537, 65_536 + 64, 200_000] {
        let content: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let file = written(with_checkpoint(7), &[7], &content);
        assert!(is_signed(&file));
        assert_eq!(read(&file, &trusting(&[7])).unwrap(), content, "{length}");
        let reader = SignedReader::new(&file[..], &Trust::Anybody).unwrap();
        assert_eq!(reader.header().open_checkpoint().unwrap().unwrap().size, 3);
        assert_eq!((reader.header().name(), reader.header().generation), (NAME, 1));
    }
}

#[test]
fn the_signature_is_ed25519_over_domain_and_digest() {
    use sha2::{Digest, Sha256};
    let file = written(header(), &[7], b"content");
    let (signed, signature) = file.split_at(file.len() - SIGNATURE);
    let digest = Sha256::digest(signed);
    let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
    let message = [&b"muster.backup.v1\0"[..], &digest].concat();
    key.verify_strict(&message, &signature.try_into().unwrap()).unwrap();
}

#[test]
fn one_known_key_of_several_is_enough_and_its_name_does_not_matter() {
    let file = written(header(), &[7, 8], b"content");
    for seeds in [&[7][..], &[8], &[1, 2, 8]] {
        assert_eq!(read(&file, &trusting(seeds)).unwrap(), b"content");
    }
    let later = NoteSigner::new("muster.example.org/audit/9", SignatureType::Ed25519, &[8; 32]).unwrap();
    assert!(read(&file, &Trust::Keys(vec![later.public().clone()])).is_ok());
    for seeds in [&[][..], &[9]] {
        let Err(SignatureError::UnknownSigner(keys)) = read(&file, &trusting(seeds)) else { panic!("{seeds:?}") };
        assert_eq!(keys, [7, 8].map(|seed| signer(seed).public().to_string()));
    }
    assert_eq!(read(&file, &Trust::Anybody).unwrap(), b"content");
}

/// An attacker names the key of the server in the header, and signs with another one.
#[test]
fn a_key_that_is_named_must_have_signed() {
    let forged = written(header(), &[9], b"content");
    let (name, other) = (signer(9).public().to_string(), signer(7).public().to_string());
    let at = forged.windows(name.len()).position(|part| part == name.as_bytes()).unwrap();
    let mut renamed = forged.clone();
    renamed[at..at + name.len()].copy_from_slice(other.as_bytes());
    assert!(is_invalid(&read(&renamed, &trusting(&[7]))));
    assert!(is_invalid(&read(&renamed, &Trust::Anybody)), "even where anybody may sign");
    // Both keys are named, and both signatures are of the attacker.
    let mut both = written(header(), &[7, 9], b"content");
    let signatures = both.len() - 2 * SIGNATURE;
    both.copy_within(signatures + SIGNATURE.., signatures);
    assert!(is_invalid(&read(&both, &trusting(&[7]))));
}

#[test]
fn a_signature_for_something_else_is_none() {
    let file = written(header(), &[7], b"content");
    let (signed, _) = file.split_at(file.len() - SIGNATURE);
    let digest = sha2::Digest::finalize(<sha2::Sha256 as sha2::Digest>::new_with_prefix(signed));
    let other = [signed, &signer(7).sign_bytes("muster.backup.v2", &digest)].concat();
    assert!(is_invalid(&read(&other, &trusting(&[7]))));
}

#[test]
fn what_was_cut_or_has_something_appended_is_refused() {
    let file = written(header(), &[7], &[5; 100_000]);
    for cut in [1, SIGNATURE - 1, SIGNATURE, SIGNATURE + 1, 99_999, 100_000] {
        assert!(is_invalid(&read(&file[..file.len() - cut], &trusting(&[7]))), "{cut}");
    }
    assert!(is_invalid(&read(&[file.as_slice(), b"x"].concat(), &trusting(&[7]))));
    for plain in [&b""[..], b"MUSTSNP1", b"MUSTBAK", &[0; 100]] {
        assert!(matches!(read(plain, &Trust::Anybody), Err(SignatureError::NotSigned)));
    }
    assert!(is_invalid(&read(&file[..20], &Trust::Anybody)), "cut within the header");
    let long = [&MAGIC[..], &u32::MAX.to_le_bytes(), b"{}"].concat();
    assert!(matches!(read(&long, &Trust::Anybody), Err(SignatureError::Header(_))), "refused before it is read");
}

#[test]
fn a_refused_backup_stays_refused() {
    let mut file = written(header(), &[7], b"content");
    let last = file.len() - 1;
    file[last] ^= 1;
    let mut reader = SignedReader::new(&file[..], &Trust::Anybody).unwrap();
    assert!(reader.read_to_end(&mut Vec::new()).is_err());
    assert!(reader.read(&mut [0; 8]).is_err());
}

#[test]
fn headers_that_contradict_themselves_are_refused() {
    let keys = vec![signer(7).public().to_string()];
    let good = Header { vkeys: keys.clone(), ..with_checkpoint(7) };
    assert_eq!(Header::from_bytes(&good.to_bytes().unwrap()).unwrap(), good);
    let witness = VerifierKey::new(NAME, SignatureType::CosignatureV1, signer(7).public().key_bytes()).unwrap();
    for bad in [
        Header { v: 2, ..good.clone() },
        Header { instance: String::new(), ..good.clone() },
        Header { at: "x\ny".to_owned(), ..good.clone() },
        Header { approval: Some("x".repeat(256)), ..good.clone() },
        Header { generation: 2, ..good.clone() },
        Header { origin: "/audit/1".to_owned(), ..good.clone() },
        Header { origin: "other.example.org/audit/1".to_owned(), ..good.clone() },
        Header { vkeys: Vec::new(), ..good.clone() },
        Header { vkeys: vec![keys[0].clone(); 2], ..good.clone() },
        Header { vkeys: vec!["none".to_owned()], ..good.clone() },
        Header { vkeys: vec![witness.to_string()], checkpoint: None, ..good.clone() },
        Header { vkeys: (0..9).map(|seed| signer(seed).public().to_string()).collect(), ..good.clone() },
        Header { vkeys: keys, ..with_checkpoint(8) },
        Header { checkpoint: Some("x".to_owned()), ..good.clone() },
        Header { checkpoint: Some("x".repeat(70_000)), ..good.clone() },
    ] {
        assert!(bad.to_bytes().is_err(), "{bad:?}");
    }
    let text = String::from_utf8(good.to_bytes().unwrap()).unwrap();
    for bad in [
        text.replace("{\"at\"", "{ \"at\""),
        text.replace("}", ",\"z\":1}"),
        text.replace("{\"at\"", "{\"at\":\"x\",\"at\""),
    ] {
        assert!(Header::from_bytes(bad.as_bytes()).is_err(), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_flipped_bit_is_accepted_and_nothing_that_was_not_written_is_returned(
        length in 0_usize..150_000, at in any::<prop::sample::Index>(), bit in 0_u8..8,
    ) {
        let content: Vec<u8> = (0..length).map(|n| (n % 253) as u8).collect();
        let mut file = written(header(), &[7], &content);
        let at = at.index(file.len());
        file[at] ^= 1 << bit;
        prop_assert!(read(&file, &trusting(&[7])).is_err());
        prop_assert!(read(&file, &Trust::Anybody).is_err());
    }

    #[test]
    fn pieces_of_any_size_are_the_same(pieces in prop::collection::vec(0_usize..100_000, 0..5), step in 1_usize..70_000) {
        let mut writer = SignedWriter::new(Vec::new(), header(), vec![signer(7)]).unwrap();
        let mut content = Vec::new();
        for (n, size) in pieces.into_iter().enumerate() {
            writer.write_all(&vec![n as u8; size]).unwrap();
            content.extend(vec![n as u8; size]);
        }
        let file = writer.finish().unwrap();
        let mut reader = SignedReader::new(&file[..], &trusting(&[7])).unwrap();
        let (mut found, mut piece) = (Vec::new(), vec![0; step]);
        loop {
            let count = reader.read(&mut piece).unwrap();
            if count == 0 { break }
            found.extend_from_slice(&piece[..count]);
        }
        prop_assert_eq!(found, content);
    }
}
