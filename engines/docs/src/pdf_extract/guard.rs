//! Measures what the streams of a file inflate to, before a reader that has no bound inflates them.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use muster_engine::prelude::*;

/// Most bytes of all streams together that are no pictures, inflated and as they are stored.
const MAX_INFLATED: u64 = 48 << 20;
const MAX_STORED: u64 = 64 << 20;
/// Streams of streams that are followed.
const MAX_DEPTH: usize = 3;
/// Bytes before a stream in which its dictionary is looked for.
const DICTIONARY: usize = 4_096;
/// Most streams: each is looked at.
const MAX_STREAMS: usize = 50_000;

/// Refuses what inflates to too much; returns whether the file is encrypted.
pub(super) fn check(bytes: &[u8]) -> Result<bool, Failure> {
    let mut budget = Budget { inflated: MAX_INFLATED, stored: MAX_STORED };
    let mut count = 0;
    for at in occurrences(bytes, b"stream") {
        count += 1;
        if count > 2 * MAX_STREAMS {
            return Err(Failure::too_large(format!("pdf: has more than {MAX_STREAMS} streams")));
        }
        let data = bytes.get(at + b"stream".len()..).unwrap_or_default();
        let blank = data.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(data.len());
        budget.spend(0, blank as u64)?;
        let data = data.get(blank..).unwrap_or_default();
        let before = bytes.get(at.saturating_sub(DICTIONARY)..at).unwrap_or_default();
        let dictionary = before.get(last_occurrence(before, b"obj").unwrap_or(0)..).unwrap_or_default();
        if has(dictionary, b"LZW") {
            return Err(Failure::invalid(&["pdf"], "uses LZW compression, which is not read: print it to a new PDF"));
        }
        if !is_picture(dictionary) {
            budget.inflate(data, 0)?;
        }
    }
    Ok(has(bytes, b"/Encrypt"))
}

/// Pictures are never inflated: readers of text have no use for them. A dictionary with escaped names may be anything.
fn is_picture(dictionary: &[u8]) -> bool {
    has(dictionary, b"/Image") && !has(dictionary, b"ObjStm") && !has(dictionary, b"XRef") && !has(dictionary, b"#")
}

/// Bytes that may still be inflated and read: a file may say of the same bytes again and again that they are a stream.
struct Budget {
    inflated: u64,
    stored: u64,
}

impl Budget {
    fn spend(&mut self, inflated: u64, stored: u64) -> Result<(), Failure> {
        let left = self.inflated.checked_sub(inflated).zip(self.stored.checked_sub(stored));
        let too_large = || Failure::too_large(format!("pdf: inflates to more than {} MiB", MAX_INFLATED >> 20));
        (self.inflated, self.stored) = left.ok_or_else(too_large)?;
        Ok(())
    }

    fn inflate(&mut self, data: &[u8], depth: usize) -> Result<(), Failure> {
        if depth >= MAX_DEPTH {
            return Err(Failure::invalid(&["pdf"], "is compressed more than twice: print it to a new PDF"));
        }
        let (text, read) = ascii85(data, self.stored);
        self.spend(0, read)?;
        for data in [Some(data), text.as_deref()].into_iter().flatten() {
            let mut zlib = ZlibDecoder::new(data);
            let mut inflated = read_from(&mut zlib, self.inflated);
            self.spend(inflated.len() as u64, zlib.total_in())?;
            if inflated.is_empty() {
                // As the reader does for data with a broken head.
                let mut deflate = DeflateDecoder::new(data.get(2..).unwrap_or_default());
                inflated = read_from(&mut deflate, self.inflated);
                self.spend(inflated.len() as u64, deflate.total_in())?;
            }
            // Data of a stream that is compressed twice begins like the first.
            if inflated.len() > 64 && !read_from(ZlibDecoder::new(inflated.as_slice()), 64).is_empty() {
                self.inflate(&inflated, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// At most one byte more than is left.
fn read_from(from: impl Read, left: u64) -> Vec<u8> {
    let mut inflated = Vec::new();
    // What came before an error counts.
    let _ = from.take(left + 1).read_to_end(&mut inflated);
    inflated
}

/// Decodes data that is ASCII85 to its end mark, `None` for other data; returns how much was read, at most one byte more
/// than `most`.
fn ascii85(data: &[u8], most: u64) -> (Option<Vec<u8>>, u64) {
    let mut bytes = Vec::new();
    let mut group: Vec<u8> = Vec::new();
    let value = |group: &[u8]| group.iter().fold(0_u64, |value, digit| value * 85 + u64::from(*digit)) as u32;
    let mut read = 0;
    for byte in data {
        read += 1;
        match byte {
            b'~' => {
                if !group.is_empty() {
                    let filled = group.len();
                    group.resize(5, 84);
                    bytes.extend(value(&group).to_be_bytes().iter().take(filled - 1));
                }
                return (Some(bytes), read);
            }
            b'z' if group.is_empty() => bytes.extend([0; 4]),
            b'!'..=b'u' => group.push(byte - b'!'),
            byte if byte.is_ascii_whitespace() => {}
            _ => return (None, read),
        }
        if group.len() == 5 {
            bytes.extend(value(&group).to_be_bytes());
            group.clear();
        }
        if read > most {
            break;
        }
    }
    (None, read)
}

fn occurrences<'a>(bytes: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(word.len()).enumerate().filter(move |(_, window)| *window == word).map(|(at, _)| at)
}

fn last_occurrence(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).rposition(|window| window == word)
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
