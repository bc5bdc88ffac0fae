//! Notes, checkpoints and proofs as texts: published examples, and the crates `signed_note` and `tlog_tiles`.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

use muster_tlog::{
    Checkpoint, CheckpointError, Hash, KeyError, MAX_SIGNATURES, Note, NoteError, NoteSigner, SignatureType, Signed,
    TlogProof, TlogProofError, VerifierKey,
};
use signed_note::{StandardSigner, StandardVerifier, VerifierList};

/// C2SP signed-note, "Example".
const EXAMPLE: &str = "This is an example message.\n\n\
    — example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
const EXAMPLE_KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";

/// The vector of the design document of governance: the key of the seed 20, 21, … 3f, and its signature of the leaf `{}`…
const ORIGIN: &str = "muster.example.org/audit/1";
const VKEY: &str = "muster.example.org/audit/1+76bd6027+ASmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X";
const ROOT: &str = "ipgbVRHzl1UEZ648CS6WyZDRWJ/KHhcEPuUBa+oe8sE=";
const SIGNATURE: &str = "dr1gJ4fCPmYusc++M95DpSHTNSiIgk+FczvHhEr/bCKVRBlDwvLgVTdMQNHWaDJIbOA26W2yvF5bdCHk29shuPHrAQs=";

fn signer(name: &str, kind: SignatureType) -> NoteSigner {
    let seed: Vec<u8> = (0x20..0x40).collect();
    NoteSigner::new(name, kind, &seed.try_into().unwrap()).unwrap()
}

fn key(text: &str) -> VerifierKey {
    text.parse().unwrap()
}

fn checkpoint() -> Checkpoint {
    Checkpoint::new(ORIGIN.to_owned(), 1, Hash::from_base64(ROOT).unwrap())
}

#[test]
fn the_example_of_the_specification_verifies_and_nothing_near_it() {
    let known = [key(EXAMPLE_KEY)];
    let note = Note::parse(EXAMPLE.as_bytes()).unwrap();
    assert_eq!(note.verify(&known), Ok(vec![(&known[0], Signed::Text)]));
    assert_eq!(note.text(), "This is an example message.\n");
    assert_eq!(note.to_string(), EXAMPLE);
    for at in 0..EXAMPLE.len() {
        for bit in [0, 1, 5, 7] {
            let mut altered = EXAMPLE.as_bytes().to_vec();
            altered[at] ^= 1 << bit;
            let verified = Note::parse(&altered).map(|note| note.verify(&known).is_ok());
            assert_ne!(verified, Ok(true), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn the_vector_of_the_design_is_made_bit_for_bit() {
    let signer = signer(ORIGIN, SignatureType::Ed25519);
    assert_eq!(signer.public().to_string(), VKEY);
    let note = checkpoint().sign(&[&signer]).unwrap();
    assert_eq!(note.to_string(), format!("{ORIGIN}\n1\n{ROOT}\n\n— {ORIGIN} {SIGNATURE}\n"));
    let opened = Checkpoint::open(note.to_string().as_bytes(), ORIGIN, &[key(VKEY)]).unwrap();
    assert_eq!(opened.checkpoint, checkpoint());
    assert_eq!(opened.signatures, [(VKEY.to_owned(), Signed::Text)]);
    assert_eq!(format!("{signer:?}"), format!("NoteSigner({VKEY:?})"));
}

#[test]
fn a_checkpoint_of_another_log_or_key_is_refused() {
    let note = checkpoint().sign(&[&signer(ORIGIN, SignatureType::Ed25519)]).unwrap().to_string();
    let open = |origin, keys: &[VerifierKey]| Checkpoint::open(note.as_bytes(), origin, keys).map(drop);
    assert_eq!(open("muster.example.org/audit/2", &[key(VKEY)]), Err(CheckpointError::Origin));
    assert_eq!(open(ORIGIN, &[key(EXAMPLE_KEY)]), Err(CheckpointError::Note(NoteError::Unsigned)));
    assert_eq!(open(ORIGIN, &[]), Err(CheckpointError::Note(NoteError::Unsigned)));
    // The same key under another name is another key.
    let renamed = signer("muster.example.org/audit/2", SignatureType::Ed25519);
    assert_eq!(open(ORIGIN, &[renamed.public().clone()]), Err(CheckpointError::Note(NoteError::Unsigned)));
    assert_eq!(open(ORIGIN, &[key(VKEY)]), Ok(()));
}

#[test]
fn a_witness_signs_time_and_text_and_does_not_replace_the_log() {
    let (log, witness) =
        (signer(ORIGIN, SignatureType::Ed25519), signer("witness.example", SignatureType::CosignatureV1));
    let text = checkpoint().to_string();
    let cosignature = witness.sign(&text, 1_679_315_147);
    let keys = [log.public().clone(), witness.public().clone()];
    let both = Note::new(text.clone(), vec![log.sign(&text, 0), cosignature.clone()]).unwrap().to_string();
    let opened = Checkpoint::open(both.as_bytes(), ORIGIN, &keys).unwrap();
    assert_eq!(opened.signatures[1], (witness.public().to_string(), Signed::At(1_679_315_147)));
    let alone = Note::new(text.clone(), vec![cosignature]).unwrap().to_string();
    let refused = Checkpoint::open(alone.as_bytes(), ORIGIN, &keys);
    assert_eq!(refused, Err(CheckpointError::Note(NoteError::Unsigned)));

    // C2SP tlog-cosignature, "Ed25519 signed message": what is signed, checked without this crate.
    use ed25519_dalek::{Signature, VerifyingKey};
    use sha2::{Digest, Sha256};
    let line = both.lines().last().unwrap().rsplit_once(' ').unwrap().1;
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, line).unwrap();
    let vkey = witness.public().to_string();
    let public =
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, vkey.splitn(3, '+').last().unwrap());
    let public: [u8; 32] = public.unwrap()[1..].try_into().unwrap();
    assert_eq!(bytes[..4], Sha256::digest([b"witness.example\n\x04", &public[..]].concat())[..4]);
    assert_eq!(bytes[4..12], 1_679_315_147_u64.to_be_bytes());
    let message = format!("cosignature/v1\ntime 1679315147\n{ORIGIN}\n1\n{ROOT}\n");
    let key = VerifyingKey::from_bytes(&public).unwrap();
    key.verify_strict(message.as_bytes(), &Signature::from_slice(&bytes[12..]).unwrap()).unwrap();
}

#[test]
fn signatures_of_unknown_keys_are_ignored_and_invalid_ones_of_known_keys_are_not() {
    let (one, two) = (signer(ORIGIN, SignatureType::Ed25519), signer("other.example", SignatureType::Ed25519));
    let text = checkpoint().to_string();
    let note = Note::new(text.clone(), vec![two.sign(&text, 0), one.sign(&text, 0), one.sign(&text, 0)]).unwrap();
    assert_eq!(note.verify(&[one.public().clone()]).unwrap().len(), 1, "a repeated signature counts once");
    let forged = Note::new(text.clone(), vec![one.sign(&text, 0), two.sign("another text\n", 0)]).unwrap();
    assert!(forged.verify(&[one.public().clone()]).is_ok());
    assert_eq!(forged.verify(&[one.public().clone(), two.public().clone()]), Err(NoteError::Signature));
}

#[test]
fn texts_that_are_no_notes_are_refused() {
    let line = EXAMPLE.lines().last().unwrap();
    let parse = |note: &str| Note::parse(note.as_bytes()).map(drop);
    for (note, error) in [
        (String::new(), NoteError::Form),
        ("text\n".to_owned(), NoteError::Form),
        (format!("text\n{line}\n"), NoteError::Form),
        (format!("text\n\n{line}"), NoteError::Form),
        ("text\n\n".to_owned(), NoteError::Form),
        (format!("text\n\n{line}\nmore\n"), NoteError::SignatureLine(2)),
        (format!("text\n\n-{}\n", &line[3..]), NoteError::SignatureLine(1)),
        (format!("text\n\n{}\n", line.replace("example.com/foo", "a+b")), NoteError::SignatureLine(1)),
        (format!("text\n\n{}\n", line.replace("example.com/foo", "a\u{a0}b")), NoteError::SignatureLine(1)),
        (format!("text\n\n{}\n", line.replace("example.com/foo ", "")), NoteError::SignatureLine(1)),
        ("text\n\n— a AAAAAA==\n".to_owned(), NoteError::SignatureLine(1)),
        ("text\n\n— a AAAAAB==\n".to_owned(), NoteError::SignatureLine(1)),
        (format!("te\rxt\n\n{line}\n"), NoteError::Characters),
        (format!("te\0xt\n\n{line}\n"), NoteError::Characters),
        (format!("text\n\n{}", format!("{line}\n").repeat(MAX_SIGNATURES + 1)), NoteError::TooLong),
        ("x".repeat(1 << 20), NoteError::TooLong),
    ] {
        assert_eq!(parse(&note), Err(error), "{:.80}", note);
    }
    assert_eq!(Note::parse(b"te\xffxt\n\n"), Err(NoteError::Characters));
    // A text may have empty lines; a verifier accepts at least 16 signatures.
    assert_eq!(parse(&format!("a\n\nb\n\n{}", format!("{line}\n").repeat(16))), Ok(()));
    // No note is made that would be read otherwise.
    let signature = Note::parse(EXAMPLE.as_bytes()).unwrap().signatures().to_vec();
    assert!(Note::new("no newline".to_owned(), signature.clone()).is_err());
    assert!(Note::new("text\n".to_owned(), Vec::new()).is_err());
    assert!(Note::new("te\rxt\n".to_owned(), signature).is_err());
}

#[test]
fn texts_that_are_no_keys_are_refused() {
    let parse = |text: &str| text.parse::<VerifierKey>().map(drop);
    for (text, error) in [
        ("", KeyError::Form),
        ("example.com/foo", KeyError::Form),
        ("example.com/foo+530d903a", KeyError::Form),
        ("example.com/foo+530D903A+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", KeyError::Form),
        ("example.com/foo+30d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", KeyError::Form),
        ("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2", KeyError::Form),
        ("example.com/foo+530d903b+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", KeyError::Id),
        ("example.com/fop+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", KeyError::Id),
        ("+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", KeyError::Name),
        ("a b+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", KeyError::Name),
        ("example.com/foo+530d903a+BukyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", KeyError::Type),
        // The neutral element: every signature of some form verifies under it.
        ("example.com/foo+530d903a+AQEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", KeyError::Key),
        ("example.com/foo+530d903a+AQ==", KeyError::Key),
    ] {
        assert_eq!(parse(text), Err(error), "{text}");
    }
    assert_eq!(parse(EXAMPLE_KEY), Ok(()));
}

#[test]
fn texts_that_are_no_checkpoints_are_refused() {
    for text in [
        String::new(),
        format!("{ORIGIN}\n1\n{ROOT}"),
        format!("{ORIGIN}\n1\n"),
        format!("\n1\n{ROOT}\n"),
        format!("{ORIGIN}\n01\n{ROOT}\n"),
        format!("{ORIGIN}\n+1\n{ROOT}\n"),
        format!("{ORIGIN}\n-1\n{ROOT}\n"),
        format!("{ORIGIN}\n\n{ROOT}\n"),
        format!("{ORIGIN}\n18446744073709551616\n{ROOT}\n"),
        format!("{ORIGIN}\n1\n{}\n", &ROOT[..43]),
        format!("{ORIGIN}\n1\n{ROOT}\n\n"),
        format!("{ORIGIN}\n1\n{ROOT}\n\nmore\n"),
        format!("{ORIGIN}\n1 \n{ROOT}\n"),
    ] {
        assert_eq!(text.parse::<Checkpoint>(), Err(CheckpointError::Form), "{text:?}");
        assert!(tlog_tiles::Checkpoint::from_bytes(text.as_bytes()).is_err(), "{text:?}");
    }
    for text in [
        format!("{ORIGIN}\n0\n{ROOT}\n"),
        format!("{ORIGIN}\n18446744073709551615\n{ROOT}\nextension 1\nextension 2\n"),
        // C2SP tlog-checkpoint, the example.
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n".to_owned(),
    ] {
        let ours: Checkpoint = text.parse().unwrap();
        assert_eq!(ours.to_string(), text);
        let theirs = tlog_tiles::Checkpoint::from_bytes(text.as_bytes()).unwrap();
        assert_eq!(
            (theirs.origin(), theirs.size(), theirs.hash().0),
            (&*ours.origin, ours.size, *ours.root.as_bytes())
        );
    }
    let two_lines = Checkpoint::new("a\nb".to_owned(), 1, Hash::of_empty_tree());
    assert!(two_lines.sign(&[&signer(ORIGIN, SignatureType::Ed25519)]).is_err());
}

#[test]
fn signed_note_reads_our_notes_and_we_read_its() {
    let ours = signer(ORIGIN, SignatureType::Ed25519);
    let note = checkpoint().sign(&[&ours]).unwrap().to_string();
    let known = VerifierList::new(vec![Box::new(StandardVerifier::new(VKEY).unwrap())]);
    let theirs = signed_note::Note::from_bytes(note.as_bytes()).unwrap();
    let (verified, unverified) = theirs.verify(&known).unwrap();
    assert_eq!((verified.len(), unverified.len()), (1, 0));

    // 01, then the seed.
    let private = format!("PRIVATE+KEY+{ORIGIN}+76bd6027+ASAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/");
    let mut written = signed_note::Note::new(checkpoint().to_string().as_bytes(), &[]).unwrap();
    written.add_sigs(&[&StandardSigner::new(&private).unwrap()]).unwrap();
    assert_eq!(String::from_utf8(written.to_bytes()).unwrap(), note);
}

#[test]
fn a_proof_is_verified_offline_and_nothing_near_it() {
    let (entries, signer) = ([&b"first"[..], b"second", b"third"], signer(ORIGIN, SignatureType::Ed25519));
    let [a, b, c] = entries.map(Hash::of_leaf);
    let root = Hash::of_node(&Hash::of_node(&a, &b), &c);
    let note = Checkpoint::new(ORIGIN.to_owned(), 3, root).sign(&[&signer]).unwrap();
    let proof = TlogProof { extra: None, index: 1, path: vec![a, c], checkpoint: note.clone() };
    let text = proof.to_string();
    assert_eq!(text, format!("c2sp.org/tlog-proof@v1\nindex 1\n{a}\n{c}\n\n{note}"));
    let known = [key(VKEY)];
    let verify = |bytes: &[u8]| TlogProof::parse(bytes).and_then(|proof| proof.verify(&b, ORIGIN, &known));
    assert_eq!(verify(text.as_bytes()).unwrap().checkpoint.size, 3);
    assert!(matches!(proof.verify(&a, ORIGIN, &known), Err(TlogProofError::Proof(_))));
    assert!(matches!(proof.verify(&b, "other.example", &known), Err(TlogProofError::Checkpoint(_))));
    for at in 0..text.len() {
        let mut altered = text.as_bytes().to_vec();
        altered[at] ^= 1;
        assert!(verify(&altered).is_err(), "byte {at}");
        assert!(verify(&text.as_bytes()[..at]).is_err(), "cut at {at}");
    }
    let extra = TlogProof { extra: Some(b"record".to_vec()), ..proof };
    assert_eq!(extra.to_string().lines().nth(1), Some("extra cmVjb3Jk"));
    assert_eq!(TlogProof::parse(extra.to_string().as_bytes()), Ok(extra));
}

#[test]
fn texts_that_are_no_proofs_are_refused() {
    let note = checkpoint().sign(&[&signer(ORIGIN, SignatureType::Ed25519)]).unwrap();
    let parse = |head: &str| TlogProof::parse(format!("{head}\n\n{note}").as_bytes()).map(drop);
    assert_eq!(parse("c2sp.org/tlog-proof@v1\nindex 0"), Ok(()));
    for head in [
        "",
        "c2sp.org/tlog-proof@v1",
        "c2sp.org/tlog-proof@v2\nindex 0",
        "c2sp.org/tlog-proof@v1\nindex 00",
        "c2sp.org/tlog-proof@v1\nindex +0",
        "c2sp.org/tlog-proof@v1\nindex",
        "c2sp.org/tlog-proof@v1\nindex 0\nextra cmVjb3Jk",
        "c2sp.org/tlog-proof@v1\nextra cmVjb3Jk\nextra cmVjb3Jk\nindex 0",
        "c2sp.org/tlog-proof@v1\nextra \nindex 0",
        "c2sp.org/tlog-proof@v1\nextra cmVjb3J\nindex 0",
        "c2sp.org/tlog-proof@v1\nindex 0\nAAAA",
        "c2sp.org/tlog-proof@v1\r\nindex 0",
    ] {
        assert_eq!(parse(head), Err(TlogProofError::Form), "{head:?}");
    }
    let long = format!("c2sp.org/tlog-proof@v1\nindex 0{}", format!("\n{ROOT}").repeat(65));
    assert_eq!(parse(&long), Err(TlogProofError::Form));
}
