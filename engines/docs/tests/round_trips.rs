//! What an engine of the family writes, another reads; damaged files are refused or reported, never read as if whole.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image::{ExtendedColorType, ImageEncoder};
use muster_engine::{Context, Failure};
use muster_engines_docs::FAMILY;
use proptest::prelude::*;
use serde_json::{Value, json};

fn run(number: u16, input: Value) -> Result<Value, Failure> {
    FAMILY.run(number, input, &Context::default())
}

fn text(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn bytes(value: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap()
}

/// The outcome of a damaged file: an output, or a failure that names it.
fn refuses(outcome: &Result<Value, Failure>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(Failure::Invalid { .. } | Failure::TooLarge { .. }) => true,
        Err(failure) => panic!("{failure:?}"),
    }
}

fn png(width: u32, height: u32, seed: u8) -> Vec<u8> {
    let pixels: Vec<u8> =
        (0..width * height * 3).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed).collect();
    let mut bytes = Vec::new();
    image::codecs::png::PngEncoder::new(&mut bytes)
        .write_image(&pixels, width, height, ExtendedColorType::Rgb8)
        .unwrap();
    bytes
}

fn pixels(bytes: &[u8]) -> Vec<u8> {
    image::load_from_memory(bytes).unwrap().to_rgb8().into_raw()
}

fn transformed(picture: &[u8], operations: Value, format: &str) -> Vec<u8> {
    let output = run(238, json!({ "image": text(picture), "operations": operations, "format": format })).unwrap();
    bytes(&output["image"])
}

fn small_pdf() -> Vec<u8> {
    let engine = FAMILY.engines().iter().find(|engine| engine.number == 244).unwrap();
    bytes(&engine.example()["pdf"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn lossless_formats_keep_every_pixel(width in 1_u32..40, height in 1_u32..40, seed: u8) {
        let picture = png(width, height, seed);
        for format in ["png", "webp", "bmp"] {
            let written = transformed(&picture, json!([]), format);
            prop_assert_eq!(pixels(&transformed(&written, json!([]), "png")), pixels(&picture), "{}", format);
        }
    }

    #[test]
    fn four_quarter_turns_and_two_flips_change_nothing(width in 1_u32..40, height in 1_u32..40, seed: u8) {
        let picture = png(width, height, seed);
        let turn = json!({ "op": "rotate", "args": { "degrees": 90 } });
        let flip = json!({ "op": "flip", "args": { "horizontal": 1, "vertical": 1 } });
        let half = json!({ "op": "rotate", "args": { "degrees": 180 } });
        prop_assert_eq!(pixels(&transformed(&picture, json!([turn, turn, turn, turn]), "png")), pixels(&picture));
        prop_assert_eq!(pixels(&transformed(&picture, json!([flip, half]), "png")), pixels(&picture));
    }

    /// A byte of the file is changed or its end is cut off. PNG has a checksum of everything.
    #[test]
    fn damaged_pictures_are_refused(at in 0_usize..10_000, cut: bool) {
        let mut damaged = png(24, 24, 7);
        // Nothing depends on the twelve bytes of the end mark.
        let at = 8 + at % (damaged.len() - 20);
        if cut {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 0x41;
        }
        prop_assert!(refuses(&run(238, json!({ "image": text(&damaged) }))), "{}", at);
        let inspected = run(237, json!({ "image": text(&damaged) }));
        let reported = inspected.as_ref().is_ok_and(|output| {
            output["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().starts_with("damaged"))
        });
        prop_assert!(reported || refuses(&inspected), "{}: {:?}", at, inspected);
    }

    #[test]
    fn codes_are_read_as_they_were_written(
        content in "[ -~äöü漢字]{1,60}", level in prop::sample::select(vec!["L", "M", "Q", "H"]), scale in 3_u8..9,
    ) {
        let written = run(241, json!({
            "operation": "encode", "text": content, "ecc": level, "output": "png", "scale": scale,
        })).unwrap();
        let read = run(241, json!({ "operation": "decode", "image": written["image"] })).unwrap();
        prop_assert_eq!(&read["codes"][0]["text"], &json!(content));
        prop_assert_eq!(&read["codes"][0]["ecc"], &json!(level));
        prop_assert_eq!(&read["version"], &written["version"]);
    }

    #[test]
    fn tables_are_read_as_they_were_written(
        rows in prop::collection::vec(
            prop::collection::vec(
                prop_oneof![
                    any::<bool>().prop_map(Value::from),
                    (-1_000_000_000_i64..1_000_000_000).prop_map(Value::from),
                    (-1e6..1e6_f64).prop_map(|number| json!((number * 1_024.0).round() / 1_024.0 + 1.0 / 2_048.0)),
                    "[a-zA-Z=@<&äß漢 ]{1,12}".prop_map(Value::from),
                ],
                3,
            ),
            1..8,
        ),
    ) {
        let written = run(247, json!({ "operation": "write", "tables": { "kits": rows } })).unwrap();
        let read = run(247, json!({ "operation": "read", "file": written["file"] })).unwrap();
        prop_assert_eq!(&read["rows"], &json!(rows));
        prop_assert_eq!(&read["formulas"], &json!({}));
    }

    #[test]
    fn damaged_workbooks_are_refused(at in 0_usize..20_000, cut: bool) {
        let input = json!({ "operation": "write", "tables": { "s": [["a", 1], ["b", 2]] } });
        let mut file = bytes(&run(247, input).unwrap()["file"]);
        let at = at % file.len();
        if cut {
            file.truncate(at);
        } else {
            file[at] ^= 0x55;
        }
        let outcome = run(247, json!({ "operation": "read", "file": text(&file) }));
        // A changed byte may be one that carries nothing, such as a date of the archive; what is read is then what was written.
        if cut || outcome.is_err() {
            prop_assert!(refuses(&outcome), "{}", at);
        } else {
            prop_assert_eq!(&outcome.unwrap()["rows"], &json!([["a", 1], ["b", 2]]));
        }
    }

    #[test]
    fn damaged_pdfs_end_with_an_output_or_a_refusal(at in 0_usize..2_000, byte: u8, cut: bool) {
        let mut file = small_pdf();
        let at = at % file.len();
        if cut {
            file.truncate(at);
        } else {
            file[at] = byte;
        }
        let outcome = run(244, json!({ "pdf": text(&file) }));
        if outcome.is_err() {
            prop_assert!(refuses(&outcome));
        }
    }

    #[test]
    fn a_written_calendar_has_the_same_occurrences(
        events in prop::collection::vec((0_i64..50, 1_i64..72, "[ -~äß\n]{0,80}", 1_u8..5), 1..6),
    ) {
        let events: Vec<Value> = events.iter().map(|(day, hours, summary, count)| {
            let start = jiff::Timestamp::from_second(1_780_000_000 + day * 86_400).unwrap();
            let end = start + jiff::SignedDuration::from_hours(*hours);
            json!({ "summary": summary, "start": start.to_string(), "end": end.to_string(), "rrule": format!("FREQ=WEEKLY;COUNT={count}") })
        }).collect();
        let window = json!({ "from": "2026-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z" });
        let with = |name: &str, value: Value| {
            let mut input = window.clone();
            input[name] = value;
            run(246, input).unwrap()
        };
        let written = with("events", json!(events));
        let read = with("ics", written["ics"].clone());
        prop_assert_eq!(&read["problems"], &json!([]));
        prop_assert_eq!(&read["occurrences"], &written["occurrences"]);
        prop_assert_eq!(&read["free"], &written["free"]);
        prop_assert_eq!(&read["ics"], &written["ics"]);
    }

    #[test]
    fn damaged_calendars_are_refused_or_reported(at in 0_usize..10_000) {
        let input = json!({
            "events": [{ "summary": "x", "start": "2026-03-01T00:00:00Z", "end": "2026-03-01T01:00:00Z", "rrule": "FREQ=DAILY;COUNT=3" }],
            "from": "2026-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z",
        });
        let whole = run(246, input).unwrap()["ics"].as_str().unwrap().to_owned();
        let cut = &whole[..1 + at % (whole.len() - "END:VCALENDAR\r\n".len())];
        let outcome = run(246, json!({ "ics": cut, "from": "2026-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z" }));
        prop_assert!(refuses(&outcome), "{cut}");
    }
}

/// The longest text makes a code of 177 modules, whose data has many shapes like corners.
#[test]
fn the_largest_code_is_read_as_it_was_written() {
    let text: String =
        (0..2_953_u32).map(|at| char::from(b'!' + (at.wrapping_mul(2_654_435_761) >> 24) as u8 % 90)).collect();
    let written =
        run(241, json!({ "operation": "encode", "text": text, "ecc": "L", "output": "png", "scale": 4 })).unwrap();
    assert_eq!(written["version"], 40);
    let read = run(241, json!({ "operation": "decode", "image": written["image"] })).unwrap();
    assert_eq!(read["codes"][0]["text"], json!(text));
}

/// Behind any cut before its end mark a PDF has no table of objects.
#[test]
fn pdfs_that_are_cut_off_are_refused() {
    let file = small_pdf();
    for at in 0..file.len() - b"%%EOF\n".len() {
        let outcome = run(244, json!({ "pdf": text(&file[..at]) }));
        assert!(refuses(&outcome), "{at}: {outcome:?}");
    }
}

/// Many blanks compress to a few bytes: what a file inflates to is bounded before a reader sees it.
#[test]
fn files_that_inflate_without_bound_are_refused() {
    use std::io::Write;

    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("[Content_Types].xml", zip::write::SimpleFileOptions::default()).unwrap();
    for _ in 0..40 {
        archive.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let bomb = archive.finish().unwrap().into_inner();
    assert!(bomb.len() < 1 << 20);
    let outcome = run(247, json!({ "operation": "read", "file": text(&bomb) }));
    assert!(matches!(outcome, Err(Failure::TooLarge { .. })), "{outcome:?}");

    let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..60 {
        stream.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let stream = stream.finish().unwrap();
    let mut pdf = b"%PDF-1.4\n1 0 obj<</Filter/FlateDecode>>stream\n".to_vec();
    pdf.extend(stream);
    pdf.extend(b"\nendstream endobj\n");
    let outcome = run(244, json!({ "pdf": text(&pdf) }));
    assert!(matches!(outcome, Err(Failure::TooLarge { .. })), "{outcome:?}");

    // A cell that is repeated a million times, in rows that are repeated.
    let content = b"<office:document-content><table:table><table:table-row table:number-rows-repeated=\"1000\">\
        <table:table-cell table:number-columns-repeated=\"16384\" office:value-type=\"string\"><text:p>x</text:p>\
        </table:table-cell></table:table-row></table:table></office:document-content>";
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("content.xml", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(content).unwrap();
    let bomb = archive.finish().unwrap().into_inner();
    let outcome = run(247, json!({ "operation": "read", "file": text(&bomb) }));
    assert!(matches!(outcome, Err(Failure::TooLarge { .. })), "{outcome:?}");
}
