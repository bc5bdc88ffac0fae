//! Headers of backups, and the signed stream behind them.

use std::io::Read;

use muster_backup::{Header, MAGIC, SIGNATURE, SignedReader, Trust};

use crate::campaign::{fuzz, label};

/// A header is read only in its canonical form, so that no two texts say the same; its checkpoint is one of its own log,
/// signed by one of its own keys. What follows it is never returned as verified, because nobody signed it.
#[test]
fn backup_header() {
    let words =
        ["\"vkeys\":[", "\"generation\":", "\"origin\":\"", "/audit/", "\"checkpoint\":\"", "\u{2014} ", "\\n\\n"];
    fuzz("backup_header", &words, |input| {
        let stream = [&MAGIC[..], &(input.len() as u32).to_le_bytes(), input, &[7; 3 * SIGNATURE]].concat();
        let mut content = Vec::new();
        let opened = SignedReader::new(&stream[..], &Trust::Anybody);
        let read = opened.map(|mut reader| reader.read_to_end(&mut content));
        assert!(!matches!(read, Ok(Ok(_))), "a signature of sevens was accepted");
        assert!(content.len() <= 3 * SIGNATURE);
        let header = match Header::from_bytes(input) {
            Err(error) => return label(error.to_string()),
            Ok(header) => header,
        };
        assert!(read.is_ok(), "the stream has the same header");
        assert_eq!(header.to_bytes().as_deref(), Ok(input));
        let keys = header.keys().unwrap();
        assert!((1..=8).contains(&keys.len()) && content.len() <= 3 * SIGNATURE - keys.len().min(3) * SIGNATURE);
        let signed = header.open_checkpoint().unwrap();
        assert!(signed.as_ref().is_none_or(|checkpoint| checkpoint.origin == header.origin));
        assert_eq!(header.origin, format!("{}/audit/{}", header.name(), header.generation));
        format!("accepted {} {}", keys.len(), signed.is_some())
    });
}
