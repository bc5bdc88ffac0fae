use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn run_on(bytes: &[u8]) -> Result<Value, Failure> {
    crate::FAMILY.run(140, json!({ "content": STANDARD.encode(bytes) }), &Context::default())
}

/// The files of the cases.
fn files() -> Vec<Vec<u8>> {
    let text = include_str!("../../cases/binary-inspect.toml");
    let contents = text.lines().filter_map(|line| line.strip_prefix("input = '''")?.strip_suffix("'''"));
    let content = |line: &str| {
        let input: Value = serde_json::from_str(line).unwrap();
        STANDARD.decode(input["content"].as_str().unwrap()).unwrap()
    };
    contents.map(content).collect()
}

#[test]
fn a_file_that_is_cut_or_changed_ends_with_an_answer_or_a_refusal() {
    for file in files() {
        for cut in (0..file.len()).step_by(7) {
            let outcome = run_on(&file[..cut]);
            assert!(matches!(outcome, Ok(_) | Err(Failure::Invalid { .. })), "{outcome:?}");
        }
        for at in 0..file.len().min(256) {
            let mut changed = file.clone();
            changed[at] = 0xff;
            let outcome = run_on(&changed);
            assert!(matches!(outcome, Ok(_) | Err(Failure::Invalid { .. })), "{outcome:?}");
        }
    }
}

/// A PE with 4,096 libraries that share one list of functions: each list is as long as the file.
#[test]
fn imports_that_share_a_list_are_bounded() {
    let mut pe = vec![0; 0x400];
    pe[..2].copy_from_slice(b"MZ");
    pe[0x3c] = 0x80;
    pe[0x80..0x84].copy_from_slice(b"PE\0\0");
    // x86-64, one section, an optional header of 240 bytes.
    pe[0x84..0x88].copy_from_slice(&[0x64, 0x86, 1, 0]);
    pe[0x94] = 0xf0;
    pe[0x98..0x9a].copy_from_slice(&[0x0b, 2]);
    pe[0x98 + 108] = 16;
    // The import table, at address 0x1000.
    pe[0x98 + 120..0x98 + 128].copy_from_slice(&[0, 0x10, 0, 0, 0, 1, 0, 0]);
    let body = 4_096 * 20 + 8_192 * 8;
    let section = 0x98 + 240;
    pe[section..section + 5].copy_from_slice(b".data");
    for (at, number) in [(8, body), (12, 0x1000), (16, body), (20, 0x400)] {
        pe[section + at..section + at + 4].copy_from_slice(&(number as u32).to_le_bytes());
    }
    let list = (0x1000 + 4_096 * 20) as u32;
    for _ in 0..4_096 {
        for number in [list, 0, 0, list, list] {
            pe.extend(number.to_le_bytes());
        }
    }
    for _ in 0..8_192 {
        pe.extend((0x8000_0000_0000_0001_u64).to_le_bytes());
    }
    let refused = run_on(&pe).unwrap_err();
    assert!(format!("{refused:?}").contains("imports") || format!("{refused:?}").contains("library"), "{refused:?}");
}

#[test]
fn files_within_a_file_are_found_and_random_bytes_are_dense() {
    let mut image = vec![0; 4_096];
    image[100..110].copy_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    image[2_000..2_027].copy_from_slice(b"-----BEGIN PRIVATE KEY-----");
    // A generator of Lehmer: dense, and not compressed.
    let mut state = 1_u64;
    for _ in 0..16 * entropy::BLOCK {
        state = state * 48_271 % 2_147_483_647;
        image.push((state >> 8) as u8);
    }
    let output = run_on(&image).unwrap();
    let kinds: Vec<(&str, u64)> = output["embedded"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["kind"].as_str().unwrap(), found["offset"].as_u64().unwrap()))
        .filter(|(kind, _)| matches!(*kind, "gzip" | "private-key" | "high-entropy"))
        .collect();
    assert_eq!(kinds, [("gzip", 100), ("private-key", 2_000), ("high-entropy", 4_096)]);
    assert_eq!(output["format"], "unknown");
}

proptest! {
    #[test]
    fn entropy_is_within_its_bounds_and_ignores_order(mut bytes in proptest::collection::vec(any::<u8>(), 1..600)) {
        let before = entropy::of(&bytes);
        bytes.reverse();
        prop_assert_eq!(before, entropy::of(&bytes));
        prop_assert!((0.0..=8.0).contains(&before));
        prop_assert!(before <= (bytes.len() as f64).log2() + 1e-6);
    }
}
