//! The largest inputs: `cargo nextest run --release -p muster-engines-docs --run-ignored only`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement")]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image::{ExtendedColorType, ImageEncoder};
use muster_engine::Context;
use muster_engine::testing::measure;
use muster_engines_docs::FAMILY;
use serde_json::{Value, json};

/// A picture of 20 million pixels in broad bands with some noise, below 16 MiB.
fn picture() -> String {
    let (width, height) = (5_000_u32, 4_000_u32);
    let pixels: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).flat_map(move |x| [(x / 20) as u8, (y / 16) as u8, ((x / 64) ^ (y / 64)) as u8 * 9]))
        .collect();
    let mut bytes = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 80)
        .write_image(&pixels, width, height, ExtendedColorType::Rgb8)
        .unwrap();
    BASE64_STANDARD.encode(bytes)
}

#[test]
#[ignore = "in release"]
fn pictures() {
    let image = picture();
    measure(&FAMILY, 237, "inspect", json!({ "image": image }));
    measure(
        &FAMILY,
        238,
        "crop, blur, turn",
        json!({ "image": image, "format": "jpeg", "operations": [
        { "op": "crop", "args": { "width": 4_000, "height": 3_000 } }, { "op": "blur", "args": { "sigma": 50 } },
        { "op": "rotate", "args": { "degrees": 90 } },
    ] }),
    );
    measure(
        &FAMILY,
        238,
        "fit",
        json!({ "image": image, "format": "jpeg", "max_bytes": 200_000, "operations": [
        { "op": "fit", "args": { "width": 1_600 } },
    ] }),
    );
    let pictures: Vec<Value> = (0..3).map(|at| json!({ "id": at.to_string(), "image": image })).collect();
    measure(&FAMILY, 239, "three pictures", json!({ "images": pictures, "hash_size": 32 }));
    measure(&FAMILY, 240, "two pictures", json!({ "image": image, "previous": image, "colours": 16 }));
    measure(&FAMILY, 241, "decode", json!({ "operation": "decode", "image": image }));
    measure(
        &FAMILY,
        241,
        "encode",
        json!({ "operation": "encode", "text": "a".repeat(2_953), "ecc": "L", "output": "png", "scale": 40 }),
    );
}

#[test]
#[ignore = "in release"]
fn drawings() {
    let y: Vec<f64> = (0..20_000).map(|at| f64::from(at % 977)).collect();
    measure(&FAMILY, 242, "20,000 points", json!({ "kind": "line", "series": [{ "name": "s", "y": y }] }));
    let features: Vec<Value> = (0..2_000)
        .map(|at| {
            let ring: Vec<[f64; 2]> = (0..=99)
                .map(|step| {
                    let angle = f64::from(step % 99) / 99.0 * std::f64::consts::TAU;
                    [f64::from(at % 50) + angle.cos() * 0.4, f64::from(at / 50) + angle.sin() * 0.4]
                })
                .collect();
            json!({ "type": "Feature", "properties": { "v": at }, "geometry": { "type": "Polygon", "coordinates": [ring] } })
        })
        .collect();
    let data = json!({ "type": "FeatureCollection", "features": features });
    measure(
        &FAMILY,
        243,
        "200,000 positions",
        json!({ "layers": [{ "name": "p", "value_field": "v", "data": data }], "classes": 9, "width": 4_000, "height": 4_000 }),
    );
}

#[test]
#[ignore = "in release"]
fn tables_and_calendars() {
    let rows: Vec<Vec<Value>> =
        (0..10_000).map(|row| (0..10).map(|column| json!(format!("{row} {column}"))).collect()).collect();
    measure(&FAMILY, 247, "write 100,000 cells", json!({ "operation": "write", "tables": { "s": rows } }));
    let written =
        FAMILY.run(247, json!({ "operation": "write", "tables": { "s": rows } }), &Context::default()).unwrap();
    measure(&FAMILY, 247, "read 100,000 cells", json!({ "operation": "read", "file": written["file"] }));
    let window = |events: Vec<Value>, to: &str| json!({ "events": events, "from": "2026-01-01T00:00:00Z", "to": to, "timezone": "America/New_York" });
    let event = |rule: &str| json!({ "summary": "x", "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T01:00:00Z", "rrule": rule });
    measure(&FAMILY, 246, "10,000 occurrences", window(vec![event("FREQ=HOURLY;COUNT=10000")], "2028-01-01T00:00:00Z"));
    measure(
        &FAMILY,
        246,
        "a rule that is never met",
        window(vec![event("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30")], "9000-01-01T00:00:00Z"),
    );
    measure(
        &FAMILY,
        246,
        "2,000 rules",
        window((0..2_000).map(|_| event("FREQ=DAILY;COUNT=5")).collect(), "2027-01-01T00:00:00Z"),
    );
}

#[test]
#[ignore = "in release"]
fn documents() {
    // Pages that share one stream of drawing.
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let drawing = "BT /F1 9 Tf 20 100 Td (Hello) Tj ET\n".repeat(50_000);
    let kids: String = (0..500).map(|at| format!("{} 0 R ", 10 + at)).collect();
    let mut offsets = Vec::new();
    let mut push = |pdf: &mut Vec<u8>, number: usize, body: &str| {
        offsets.push((number, pdf.len()));
        pdf.extend(format!("{number} 0 obj{body}endobj\n").bytes());
    };
    push(&mut pdf, 1, "<</Type/Catalog/Pages 2 0 R>>");
    push(&mut pdf, 2, &format!("<</Type/Pages/Kids[{kids}]/Count 500>>"));
    push(&mut pdf, 3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
    push(&mut pdf, 4, &format!("<</Length {}>>stream\n{drawing}\nendstream ", drawing.len()));
    for at in 0..500 {
        push(
            &mut pdf,
            10 + at,
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1 3 0 R>>>>>>",
        );
    }
    let start = pdf.len();
    pdf.extend(b"xref\n");
    for (number, offset) in &offsets {
        pdf.extend(format!("{number} 1\n{offset:010} 00000 n \n").bytes());
    }
    pdf.extend(format!("trailer<</Size 600/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n").bytes());
    measure(&FAMILY, 244, "500 pages of one stream", json!({ "pdf": BASE64_STANDARD.encode(&pdf) }));
    let mut words = b"%PDF-1.4\n".to_vec();
    words.extend(b"stream ".repeat(90_000));
    words.extend(vec![b'!'; 15 << 20]);
    measure(&FAMILY, 244, "90,000 words that are no streams", json!({ "pdf": BASE64_STANDARD.encode(&words) }));
}
