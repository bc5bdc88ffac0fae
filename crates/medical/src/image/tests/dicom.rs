//! The walk over DICOM elements.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::build::{EXPLICIT, IMPLICIT, declared, explicit, file, implicit, item, open, picture};
use crate::image::dicom::{DicomError, read};
use crate::image::{ImageError, MetadataKind, Picture};

#[test]
fn a_header_in_explicit_little_endian_is_read() {
    let elements = [
        explicit(8, 0x60, b"CS", b"MG"),
        explicit(0x18, 0x15, b"CS", b"BREAST"),
        explicit(0x28, 4, b"CS", b"MONOCHROME2 "),
        explicit(0x28, 8, b"IS", b"3 "),
        explicit(0x28, 0x301, b"CS", b"YES "),
        picture(),
    ];
    let header = read(&file(EXPLICIT, &elements)).unwrap();
    assert_eq!((header.columns, header.rows, header.bits, header.frames), (512, 256, 12, 3));
    assert_eq!(header.codes.modality.as_deref(), Some("MG"));
    assert_eq!(header.codes.body_part.as_deref(), Some("BREAST"));
    assert_eq!(header.codes.photometric.as_deref(), Some("MONOCHROME2"));
    assert_eq!(header.codes.burned_in_annotation, Some(true));
    assert!(!header.patient_tags && !header.metadata.time && !header.metadata.device);
}

#[test]
fn a_header_in_implicit_little_endian_is_read() {
    let elements = [
        implicit(8, 0x60, b"CT"),
        // A sequence without a length, with an item without one.
        [open(8, 0x1140), open(0xfffe, 0xe000), implicit(8, 0x1155, b"1.2\0")].concat(),
        [implicit(0xfffe, 0xe00d, &[]), implicit(0xfffe, 0xe0dd, &[])].concat(),
        implicit(0x28, 0x10, &256_u16.to_le_bytes()),
        implicit(0x28, 0x11, &512_u16.to_le_bytes()),
        implicit(0x7fe0, 0x10, &[1, 2]),
    ];
    let header = read(&file(IMPLICIT, &elements)).unwrap();
    assert_eq!((header.columns, header.rows, header.codes.modality.as_deref()), (512, 256, Some("CT")));
}

#[test]
fn kinds_of_metadata_are_found_at_any_depth_and_empty_elements_are_none() {
    let metadata = |elements: &[Vec<u8>]| {
        let bytes = file(EXPLICIT, &[elements.concat(), picture()]);
        Picture::from_bytes(bytes).unwrap().metadata()
    };
    assert_eq!(metadata(&[explicit(0x10, 0x10, b"PN", b""), explicit(0x10, 0x20, b"LO", b"  ")]), []);
    assert_eq!(metadata(&[explicit(0x10, 0x10, b"PN", b"Doe^Jane")]), [MetadataKind::PatientTags]);
    assert_eq!(metadata(&[explicit(8, 0x20, b"DA", b"20260101")]), [MetadataKind::Time]);
    assert_eq!(metadata(&[explicit(8, 0x70, b"LO", b"Maker ")]), [MetadataKind::Device]);
    let nested = explicit(8, 0x1140, b"SQ", &item(&explicit(0x10, 0x20, b"LO", b"12")));
    assert_eq!(metadata(&[nested]), [MetadataKind::PatientTags]);
}

#[test]
fn a_code_that_could_be_free_text_is_not_told() {
    for value in [b"Jane Doe".as_slice(), b"ABCDEFGHIJKLMNOPQ", b"", b"CT\\MR"] {
        let header = read(&file(EXPLICIT, &[explicit(8, 0x60, b"CS", value), picture()])).unwrap();
        assert_eq!(header.codes.modality, None);
    }
}

/// A public parser allocated 4.2 GB for such a file.
#[test]
fn a_file_of_248_bytes_that_declares_four_gigabytes_is_refused_at_once() {
    let mut bytes = file(EXPLICIT, &[declared(0x0009, 0x0010, b"UN", 0xffff_fff0)]);
    bytes.resize(248, 0);
    // The fastest of several: other programs share the machine.
    let took = (0..5).map(|_| {
        let begun = Instant::now();
        assert_eq!(read(&bytes), Err(DicomError::Length));
        begun.elapsed()
    });
    assert!(took.min().unwrap() < Duration::from_millis(10));
}

#[test]
fn a_length_beyond_the_bytes_or_beyond_its_item_is_refused() {
    for representation in [b"OB", b"SQ", b"UT", b"UN"] {
        let bytes = file(EXPLICIT, &[declared(9, 0x10, representation, 1_000), picture()]);
        assert_eq!(read(&bytes), Err(DicomError::Length));
    }
    let too_long = [explicit(8, 0x50, b"SH", b"ab"), picture()].concat();
    // The element of the item declares more than the item has.
    let mut inner = explicit(8, 0x1155, b"UI", b"1.2\0");
    inner[6] = 200;
    let bytes = file(EXPLICIT, &[explicit(8, 0x1140, b"SQ", &item(&inner)), too_long.repeat(4)]);
    assert_eq!(read(&bytes), Err(DicomError::Length));
    let bytes = file(IMPLICIT, &[implicit(8, 0x60, b"CT"), [&[8, 0, 0x70, 0][..], &[0xf0, 0xff, 0xff, 0xff]].concat()]);
    assert_eq!(read(&bytes), Err(DicomError::Length));
}

#[test]
fn nesting_is_accepted_to_a_depth_of_four() {
    let nested = |depth: usize| {
        let inner = explicit(8, 0x1155, b"UI", b"1.2\0");
        (0..depth).fold(inner, |inner, _| explicit(8, 0x1140, b"SQ", &item(&inner)))
    };
    assert!(read(&file(EXPLICIT, &[nested(4), picture()])).is_ok());
    assert_eq!(read(&file(EXPLICIT, &[nested(5), picture()])), Err(DicomError::Depth));
    let endless = open(8, 0x1140).repeat(1);
    let endless = [endless, open(0xfffe, 0xe000)].concat().repeat(10_000);
    assert_eq!(read(&file(IMPLICIT, &[endless])), Err(DicomError::Depth));
}

#[test]
fn elements_are_counted_with_those_of_items() {
    let many = |count: usize| file(EXPLICIT, &[explicit(9, 0x10, b"LO", b"").repeat(count), picture()]);
    assert!(read(&many(4_000)).is_ok());
    assert_eq!(read(&many(4_096)), Err(DicomError::Elements));
    let items = explicit(8, 0x1140, b"SQ", &item(&[]).repeat(5_000));
    assert_eq!(read(&file(EXPLICIT, &[items, picture()])), Err(DicomError::Elements));
}

#[test]
fn a_file_without_a_picture_or_in_another_syntax_is_refused_by_its_reason() {
    let without_pixels = [explicit(0x28, 0x10, b"US", &[1, 0]), explicit(0x28, 0x11, b"US", &[1, 0])];
    assert_eq!(read(&file(EXPLICIT, &without_pixels)), Err(DicomError::NoPicture));
    assert_eq!(read(&file(EXPLICIT, &[explicit(0x7fe0, 0x10, b"OW", &[0; 4])])), Err(DicomError::NoPicture));
    for syntax in [b"1.2.840.10008.1.2.2\0".as_slice(), b"1.2.840.10008.1.2.1.99", b"1.2.3.4\0"] {
        assert!(matches!(read(&file(syntax, &[picture()])), Err(DicomError::Syntax(_))));
    }
    let mut no_meta = vec![0; 128];
    no_meta.extend(b"DICM");
    assert!(matches!(read(&no_meta), Err(DicomError::Damaged(_))));
    let mut cut = file(EXPLICIT, &[]);
    cut.extend([8, 0, 0x60]);
    assert_eq!(read(&cut), Err(DicomError::Truncated));
}

#[test]
fn fragments_of_an_icon_are_passed_over() {
    let icon =
        [declared(0x7fe0, 0x10, b"OB", u32::MAX), item(&[]), item(&[9; 30]), implicit(0xfffe, 0xe0dd, &[])].concat();
    let sequence = explicit(0x88, 0x200, b"SQ", &item(&icon));
    assert!(read(&file(EXPLICIT, &[sequence, picture()])).is_ok());
}

#[test]
fn pixels_of_dicom_are_not_read() {
    // Declares encapsulated pixels and has none.
    let open_pixels = declared(0x7fe0, 0x10, b"OB", u32::MAX);
    let dimensions = [explicit(0x28, 0x10, b"US", &[200, 0]), explicit(0x28, 0x11, b"US", &[200, 0])].concat();
    assert!(read(&file(EXPLICIT, &[dimensions, open_pixels])).is_ok());
}

#[test]
fn dimensions_of_dicom_are_bounded() {
    let sized = |rows: u16, columns: u16| {
        let elements = [
            explicit(0x28, 0x10, b"US", &rows.to_le_bytes()),
            explicit(0x28, 0x11, b"US", &columns.to_le_bytes()),
            explicit(0x7fe0, 0x10, b"OW", &[]),
        ];
        Picture::from_bytes(file(EXPLICIT, &elements))
    };
    assert!(sized(5_000, 8_000).is_ok());
    for (rows, columns) in [(5_001, 8_000), (1, 16_385), (0, 5)] {
        assert!(matches!(sized(rows, columns), Err(ImageError::Header(_))), "{rows} {columns}");
    }
}

fn seeds() -> [Vec<u8>; 2] {
    let nested = explicit(8, 0x1140, b"SQ", &item(&explicit(8, 0x1155, b"UI", b"1.2\0")));
    let open_sequence =
        [open(8, 0x1140), open(0xfffe, 0xe000), implicit(8, 0x1155, b"1.2\0"), implicit(0xfffe, 0xe00d, &[])].concat();
    [
        file(EXPLICIT, &[explicit(8, 0x60, b"CS", b"MG"), nested, declared(9, 1, b"UN", u32::MAX), picture()]),
        file(IMPLICIT, &[implicit(8, 0x60, b"CT"), open_sequence, implicit(0xfffe, 0xe0dd, &[]), picture()]),
    ]
}

proptest! {
    #[test]
    fn mutated_files_neither_panic_nor_run_on(
        which in 0_usize..2,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..10),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = seeds()[which].clone();
        for (at, value) in edits {
            // The preamble has no meaning.
            let at = 128 + at.index(bytes.len() - 128);
            bytes[at] = value;
        }
        if cut {
            bytes.truncate(length.index(bytes.len()));
        }
        let begun = Instant::now();
        let _ = read(&bytes);
        let _ = Picture::from_bytes(bytes);
        prop_assert!(begun.elapsed() < Duration::from_millis(200));
    }

    #[test]
    fn random_elements_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), implicit in any::<bool>()) {
        let _ = read(&file(if implicit { IMPLICIT } else { EXPLICIT }, &[bytes]));
    }
}
