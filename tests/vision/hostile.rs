//! Hostile pictures: in a process of its own, whose memory is looked at.

use std::io::Cursor;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt};
use image::{DynamicImage, ImageFormat};
use serde_json::json;

use super::see;
use crate::medical_images::pictures::{base64, chunk, deflate, grey, jpeg, png, zeros};
use crate::support::client::{Answer, Client};
use crate::support::process::{self, Process};
use crate::support::rng::SplitMix64;

/// Most MiB that pictures may add to the server.
const MOST_MIB: usize = 64;
/// Time for a picture: 5 s of decoding, and what is around it.
const MOST_TIME: Duration = Duration::from_secs(6);
/// Changed pictures of the test below.
const CHANGED: u64 = 10_000;
/// How many of them are sent at a time.
const AT_ONCE: usize = 4;

/// MiB of memory of the server itself, without the processes that decode.
fn resident(server: &Process) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap().to_owned();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() / 1_024
}

/// Checks that a picture was refused by name; the message says what is to be done, and no path of this machine.
fn assert_refused(answer: &Answer, what: &str) {
    assert_eq!(answer.status, 400, "{what}: {}", answer.text);
    let error = &answer.json()["error"];
    assert_eq!(error["field"], "image", "{what}: {error}");
    let code = error["code"].as_str().unwrap();
    assert!(["invalid_image", "image_too_large", "unsupported_image"].contains(&code), "{what}: {error}");
}

/// A GIF of so many pictures of one pixel.
fn gif(frames: usize, side: u16) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend([side.to_le_bytes(), side.to_le_bytes()].concat());
    // A table of two colours.
    bytes.extend([0x80, 0, 0, 0, 0, 0, 255, 255, 255]);
    let mut frame = vec![0x2c, 0, 0, 0, 0];
    frame.extend([side.to_le_bytes(), side.to_le_bytes()].concat());
    // Clear, index 0, end.
    frame.extend([0, 2, 2, 0x44, 0x01, 0]);
    (0..frames).for_each(|_| bytes.extend(&frame));
    bytes.push(0x3b);
    bytes
}

/// A bitmap header without pixels, 24 bits each.
fn bitmap(width: i32, height: i32) -> Vec<u8> {
    let mut bytes = b"BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bytes.extend([width.to_le_bytes(), height.to_le_bytes()].concat());
    bytes.extend(b"\x01\0\x18\0");
    bytes.extend([0; 24]);
    bytes
}

/// A segment of a JPEG.
fn segment(kind: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
    [&[0xff, kind][..], &length, data].concat()
}

/// The frame of a grey JPEG of these sides (`0xc0` baseline, `0xc2` progressive).
fn frame(kind: u8, side: u16) -> Vec<u8> {
    let sides = [side.to_be_bytes(), side.to_be_bytes()].concat();
    let table = segment(0xdb, &[&[0][..], &[1; 64]].concat());
    [&[0xff, 0xd8][..], &table, &segment(kind, &[&[8][..], &sides, &[1, 1, 0x11, 0]].concat())].concat()
}

/// A progressive JPEG of many scans, each of which passes over all blocks in a few bytes (ITU-T T.81, annex G): runs of
/// blocks without a coefficient.
fn scans(side: u16, count: usize) -> Vec<u8> {
    let mut bytes = frame(0xc2, side);
    // One code of one bit: the symbol of the longest run, 2^14 blocks and 14 further bits of its length.
    let mut codes = vec![0x10, 1];
    codes.extend([0; 15]);
    codes.push(0xe0);
    bytes.extend(segment(0xc4, &codes));
    let blocks = usize::from(side).div_ceil(8).pow(2);
    let runs = blocks.div_ceil((1 << 15) - 1);
    // A code of one bit, 0, and 14 ones, without padding between runs.
    let bits: Vec<u8> = std::iter::repeat_n([vec![0], vec![1; 14]].concat(), runs).flatten().collect();
    let mut data = Vec::new();
    for byte in bits.chunks(8) {
        let value = (0..8).fold(0, |value, at| value << 1 | byte.get(at).copied().unwrap_or(1));
        data.push(value);
        if value == 0xff {
            data.push(0);
        }
    }
    let scan = [segment(0xda, &[1, 1, 0x00, 1, 1, 0]), data].concat();
    (0..count).for_each(|_| bytes.extend(&scan));
    bytes.extend([0xff, 0xd9]);
    bytes
}

/// A PNG of two by two with these chunks before its pixels.
fn with_chunks(chunks: &[Vec<u8>]) -> Vec<u8> {
    png(2, 2, [8, 0, 0], chunks, &deflate(&[0, 1, 2, 0, 3, 4]))
}

/// Pictures that declare or unpack to more than is accepted, or keep a decoder busy; all must be refused.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a PNG of 50,000 by 50,000", png(50_000, 50_000, [8, 0, 0], &[], &zeros(50_000 * 50_001))),
        ("a PNG whose data is a gibibyte too long", png(1, 1, [8, 0, 0], &[], &zeros(1 << 30))),
        ("a PNG of 16 bits and four channels", png(8_000, 5_000, [16, 6, 0], &[], &zeros(5_000 * 64_001))),
        ("a GIF of 65,535 by 65,535", gif(1, u16::MAX)),
        ("a bitmap of 50,000 by 50,000", bitmap(50_000, 50_000)),
        ("a bitmap of negative width", bitmap(i32::MIN, i32::MIN)),
        ("a JPEG of 65,535 by 65,535", frame(0xc0, u16::MAX)),
        ("a PNG that is a chunk of 2 GiB", [&b"\x89PNG\r\n\x1a\n"[..], b"\x7f\xff\xff\xffIHDR"].concat()),
        ("a WebP that claims 4 GiB", b"RIFF\xff\xff\xff\xffWEBPVP8L\xff\xff\xff\xff\x2f\xff\xff\xff\xff".to_vec()),
    ]
}

/// Pictures that are small, whatever is around them: they are read or refused, in little time and memory.
fn oddities() -> Vec<(&'static str, Vec<u8>)> {
    let text = |kind: &[u8; 4], head: &[u8]| chunk(kind, &[head, &zeros(1 << 30)[..]].concat());
    vec![
        ("a GIF of 100,000 pictures", gif(100_000, 1)),
        ("a PNG with a compressed text of a gibibyte", with_chunks(&[text(b"zTXt", b"a\0\0")])),
        ("a PNG with an international text of a gibibyte", with_chunks(&[text(b"iTXt", b"a\0\x01\0\0\0")])),
        ("a PNG with a colour profile of a gibibyte", with_chunks(&[text(b"iCCP", b"a\0\0")])),
        ("a PNG of a million chunks", with_chunks(&vec![chunk(b"teSt", &[]); 1_000_000])),
        ("a JPEG of many scans", scans(6_000, 20_000)),
    ]
}

#[tokio::test]
async fn pictures_that_unpack_leave_the_server_s_memory_and_time_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = process::start(folder.path(), "");
    assert_eq!(see(&client, &super::picture(), "describe").await.status, 200);
    let before = resident(&server);
    for (what, bomb) in bombs() {
        let begun = Instant::now();
        assert_refused(&see(&client, &base64(&bomb), "describe").await, what);
        assert!(begun.elapsed() < MOST_TIME, "{what}: {:?}", begun.elapsed());
    }
    for (what, odd) in oddities() {
        let begun = Instant::now();
        let answer = see(&client, &base64(&odd), "describe").await;
        if answer.status == 200 {
            let several = answer.json()["warnings"].as_array().unwrap().contains(&json!("first_frame_only"));
            assert_eq!(several, what.starts_with("a GIF"), "{what}: {}", answer.text);
        } else {
            assert_refused(&answer, what);
        }
        assert!(begun.elapsed() < MOST_TIME, "{what}: {:?}", begun.elapsed());
    }
    let grown = resident(&server).saturating_sub(before);
    assert!(grown <= MOST_MIB, "{grown} MiB");
    assert_eq!(see(&client, &super::picture(), "describe").await.status, 200, "it serves on");
}

/// A small picture in each format.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let picture = image::RgbImage::from_fn(24, 16, |x, y| image::Rgb([(x * 10) as u8, (y * 15) as u8, 90]));
    let encoded = |format: ImageFormat| {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::ImageRgb8(picture.clone()).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    };
    vec![
        ("png", grey(&[[10, 200, 10, 40].as_slice(); 12])),
        ("jpeg", jpeg(40, 30, b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0")),
        ("gif", encoded(ImageFormat::Gif)),
        ("webp", encoded(ImageFormat::WebP)),
        ("bmp", encoded(ImageFormat::Bmp)),
    ]
}

/// Sends pictures, some at a time; each is described or refused.
async fn send_all(client: &Client, pictures: Vec<(String, Vec<u8>)>) -> (usize, usize) {
    let answers = stream::iter(pictures).map(|(what, picture)| async move {
        let answer = see(client, &base64(&picture), "describe").await;
        if answer.status != 200 {
            assert_refused(&answer, &what);
        }
        answer.status
    });
    let statuses: Vec<u16> = answers.buffer_unordered(AT_ONCE).collect().await;
    let described = statuses.iter().filter(|status| **status == 200).count();
    (described, statuses.len() - described)
}

#[tokio::test]
async fn pictures_that_are_cut_off_or_changed_are_described_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = process::start(folder.path(), "");
    for (name, sample) in samples() {
        assert_eq!(see(&client, &base64(&sample), "describe").await.status, 200, "{name} is read");
    }
    let before = resident(&server);
    let mut pictures = Vec::new();
    for (name, sample) in samples() {
        let step = (sample.len() / 60).max(1);
        pictures
            .extend((1..sample.len()).step_by(step).map(|at| (format!("{name} cut at {at}"), sample[..at].to_vec())));
    }
    let (_, refused) = send_all(&client, pictures).await;
    assert!(refused > 100, "{refused} of the cut ones are refused");
    // The same pictures each time.
    let mut random = SplitMix64(20_260_101);
    let samples = samples();
    let changed = (0..CHANGED).map(|nth| {
        let (name, sample) = &samples[random.below(samples.len() as u64)];
        let mut picture = sample.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(picture.len() as u64);
            picture[at] = u8::try_from(random.below(256)).unwrap();
        }
        (format!("change {nth} of {name}"), picture)
    });
    let (described, refused) = send_all(&client, changed.collect()).await;
    assert!(described > 0 && refused > CHANGED as usize / 10, "{described} described, {refused} refused");
    let grown = resident(&server).saturating_sub(before);
    assert!(grown <= MOST_MIB, "{grown} MiB");
    assert_eq!(see(&client, &super::picture(), "describe").await.status, 200, "it serves on");
}
