//! Any bytes give a header, a picture or an error, never a panic.

use proptest::prelude::*;

use super::build::{LIMITS, chunk, frame, jpeg, jpeg_head, png, segment};
use crate::decode::{Bounds, luma};
use crate::{Format, header, recognise};

fn seeds() -> Vec<(Format, Vec<u8>)> {
    let exif = b"MM\0*\0\0\0\x08\0\x02\x87\x69\0\x04\0\0\0\x01\0\0\0\x08\x88\x25\0\x04\0\0\0\x01\0\0\0\x20";
    let more = [chunk(b"eXIf", exif), chunk(b"tEXt", b"Software\0x"), chunk(b"acTL", &[0; 8])];
    let app1 = segment(0xe1, &[b"Exif\0\0".as_slice(), exif].concat());
    vec![
        (Format::Png, png(4, 4, [8, 2, 0], &more, &[7; 52])),
        (Format::Png, png(5, 5, [8, 0, 1], &[], &[0; 36])),
        (Format::Jpeg, jpeg(16, 16, 90)),
        (Format::Jpeg, jpeg_head(&[app1, frame(0xc2, 8, 4, 5)])),
        (Format::Webp, super::upright::webp(3, 2, &[200; 24])),
        (Format::Gif, super::upright::gif(&[[1, 2, 3, 255], [4, 5, 6, 0]])),
        (Format::Bmp, super::upright::bmp(3, 2, &[90; 18])),
    ]
}

proptest! {
    #[test]
    fn mutated_pictures_do_not_panic(
        seed in 0_usize..7,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let (format, mut bytes) = seeds().swap_remove(seed);
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if cut {
            bytes.truncate(length.index(bytes.len()));
        }
        let _ = recognise(&bytes);
        if let Ok(header) = header::read(&bytes, format, &LIMITS) {
            prop_assert!(u64::from(header.width) * u64::from(header.height) <= LIMITS.pixels);
        }
        // Small, so that a mutated header does not make the test slow.
        let limits = header::Limits { pixels: 10_000, side: 1_000 };
        if let Ok((header, luma)) = luma(&bytes, format, &Bounds { limits, memory: 1 << 20 }) {
            prop_assert_eq!((header.width, header.height), (luma.width(), luma.height()));
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::Png, Format::Jpeg, Format::Webp, Format::Gif, Format::Bmp] {
            let _ = header::read(&bytes, format, &LIMITS);
        }
        let _ = crate::text::decode(&String::from_utf8_lossy(&bytes), 100);
    }
}
