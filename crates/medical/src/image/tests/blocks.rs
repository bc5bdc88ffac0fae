//! What is answered about pictures.

use muster_media::{Measures, hash};
use serde_json::json;

use super::build::{EXPLICIT, explicit, file, picture};
use crate::image::block::blocks;
use crate::image::{ImageError, Picture};

/// A PNG of one chunk of data, whose pixels nobody decodes here.
fn png(width: u32, height: u32, more: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        [&u32::try_from(data.len()).unwrap().to_be_bytes()[..], kind, data, &[0; 4]].concat()
    };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header), more.to_vec(), chunk(b"IDAT", b"x"), chunk(b"IEND", b"")]
        .concat()
}

fn measures(blank: bool, difference_hash: u64) -> Option<Measures> {
    let measures = Measures {
        sharpness: Some(12.3456),
        brightness: 0.5,
        contrast: 0.25,
        clipped_share: 0.0,
        blank,
        difference_hash,
    };
    Some(measures)
}

fn read(bytes: Vec<u8>) -> Picture {
    Picture::from_bytes(bytes).unwrap()
}

#[test]
fn a_picture_is_described_by_its_header_its_measures_and_its_issues() {
    let bytes = png(200, 100, b"\0\0\0\x07tIME1234567\0\0\0\0");
    let sha256 = hash::sha256(&bytes);
    let found = serde_json::to_value(blocks(&[(read(bytes), measures(true, 0))])).unwrap();
    assert_eq!(
        found,
        json!([{ "index": 0, "sha256": sha256, "mediaType": "image/png", "width": 200, "height": 100, "bitDepth": 8,
                 "frames": 1, "metadataFound": ["time"], "usable": false, "issues": ["blank", "small"],
                 "interpretation": "not_interpreted",
                 "measured": { "sharpness": 12.35, "brightness": 0.5, "contrast": 0.25, "clippedShare": 0.0,
                               "blank": true } }])
    );
}

#[test]
fn dicom_has_no_measures() {
    let elements = [explicit(8, 0x60, b"CS", b"MG"), explicit(0x10, 0x10, b"PN", b"Doe^Jane"), picture()];
    let found = serde_json::to_value(blocks(&[(read(file(EXPLICIT, &elements)), None)])).unwrap();
    assert_eq!(found[0]["measured"], json!(null));
    assert_eq!(found[0]["metadataFound"], json!(["patient_tags"]));
    assert_eq!(found[0]["issues"], json!(["pixels_not_read", "identifying_metadata"]));
    let codes = json!({ "modality": "MG", "bodyPart": null, "photometric": null, "burnedInAnnotation": null });
    assert_eq!((&found[0]["dicom"], &found[0]["usable"]), (&codes, &json!(true)));
    assert!(!found.to_string().contains("Jane"));
}

#[test]
fn equal_pictures_are_duplicates_and_near_ones_similar() {
    let (one, other) = (png(200, 200, b""), png(200, 201, b""));
    let given = [
        (read(one.clone()), measures(false, 0b111)),
        (read(other), measures(false, 0b100)),
        (read(one), measures(false, 0b111)),
        (read(png(202, 200, b"")), measures(false, 0b0011_1111_0000)),
        (read(png(203, 200, b"")), measures(true, 0b111)),
    ];
    let found = blocks(&given);
    let issues: Vec<Vec<String>> = found.iter().map(|block| block.issues.clone()).collect();
    assert_eq!(
        issues,
        [vec![], vec!["similar_to_0".to_owned()], vec!["duplicate".to_owned()], vec![], vec!["blank".to_owned()]]
    );
    assert_eq!(found.iter().map(|block| block.duplicate_of).collect::<Vec<_>>(), [None, None, Some(0), None, None]);
}

#[test]
fn what_is_no_accepted_picture_is_refused_by_name() {
    let refused = |text: &str| Picture::from_text(text).unwrap_err().to_string();
    assert!(refused("https://example.org/scan.png").starts_with("is a link"));
    assert!(refused("%%%").starts_with("is not base64"));
    // "GIF89a", "hello", and a WebP.
    assert_eq!(refused("R0lGODlh"), "is GIF: send PNG, JPEG or DICOM Part 10");
    assert!(refused("aGVsbG8=").starts_with("is neither PNG, JPEG nor DICOM"));
    let large = Picture::from_bytes(vec![0; (16 << 20) + 1]).unwrap_err();
    assert!(matches!(large, ImageError::Text(_)) && large.to_string().contains("16 MiB"), "{large}");
}
