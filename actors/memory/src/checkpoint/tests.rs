//! Checkpoint files under damage.

use super::PartKey;
use super::blocks::{SectionReader, SectionWriter};
use super::partition::{SLOTS, SlotNumber};
use crate::record::{Owner, Space};

fn written(sections: &[&[u8]]) -> Vec<u8> {
    let mut file = SectionWriter::begin(Vec::new()).unwrap();
    for section in sections {
        file.section(|to| to.write_all(section)).unwrap();
    }
    file.finish().unwrap()
}

fn read(bytes: &[u8], sections: usize) -> std::io::Result<Vec<Vec<u8>>> {
    let mut file = SectionReader::begin(bytes)?;
    let mut all = Vec::new();
    for _ in 0..sections {
        let mut section = Vec::new();
        file.section(|from| from.read_to_end(&mut section))?;
        all.push(section);
    }
    file.finish()?;
    Ok(all)
}

#[test]
fn sections_are_read_as_written() {
    let long: Vec<u8> = (0..2_500_000_u32).map(|n| (n % 251) as u8).collect();
    let sections: [&[u8]; 4] = [b"one", b"", &long, b"four"];
    assert_eq!(read(&written(&sections), 4).unwrap(), sections);
}

#[test]
fn every_bit_flip_and_truncation_is_detected() {
    let bytes = written(&[b"some head", b"", b"some collection"]);
    assert!(read(&bytes, 3).is_ok());
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped, 3).is_err(), "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length], 3).is_err(), "cut at {length}");
    }
    assert!(read(&[bytes.as_slice(), b"x"].concat(), 3).is_err(), "longer");
}

#[test]
fn moved_and_duplicated_blocks_are_detected() {
    let bytes = written(&[b"aaaa", b"bbbb"]);
    // magic and version 14, then blocks of 12 with an end of 8 behind each, and the file's own.
    let (head, a, a_end, b, rest) = (&bytes[..14], &bytes[14..26], &bytes[26..34], &bytes[34..46], &bytes[46..]);
    assert!(read(&[head, a, a_end, b, rest].concat(), 2).is_ok());
    assert!(read(&[head, b, a_end, a, rest].concat(), 2).is_err(), "exchanged");
    assert!(read(&[head, a, a, a_end, b, rest].concat(), 2).is_err(), "doubled");
    assert!(read(&[head, a_end, b, rest].concat(), 2).is_err(), "missing");
}

#[test]
fn a_section_must_be_read_to_its_end_and_no_further() {
    let bytes = written(&[b"abc", b"def"]);
    let mut file = SectionReader::begin(bytes.as_slice()).unwrap();
    assert!(file.section(|from| from.read_exact(&mut [0; 2])).is_err(), "one byte is left");
    let mut file = SectionReader::begin(bytes.as_slice()).unwrap();
    assert!(file.section(|from| from.read_exact(&mut [0; 4])).is_err(), "the next section's is not its own");
}

/// On the disk for ever: CRC-32C of "123456789" is e3069283 (RFC 3720's polynomial, the usual check value).
#[test]
fn owners_and_spaces_stay_where_they_are() {
    assert_eq!(SlotNumber::of(&Owner::new("123456789")), SlotNumber((0xe306_9283_u32 % 64) as u8));
    let space = Space::new(Owner::new("1234"), "6789");
    let crc = crc32c::crc32c(b"1234\x006789");
    assert_eq!(PartKey::of(&space, 1_999), PartKey::Pack((crc % 16) as u8));
    assert_eq!(PartKey::of(&space, 2_000), PartKey::Own(space));
}

#[test]
fn every_slot_belongs_to_one_shard() {
    for shards in 1..=5 {
        let mut of = vec![0; shards];
        SlotNumber::all().for_each(|slot| of[slot.shard(shards)] += 1);
        assert_eq!(of.iter().sum::<usize>(), usize::from(SLOTS));
        assert!(of.iter().all(|slots| *slots >= usize::from(SLOTS) / shards), "{of:?}");
    }
}
