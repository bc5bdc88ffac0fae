//! Builds DICOM files.

/// Transfer syntaxes.
pub const EXPLICIT: &[u8] = b"1.2.840.10008.1.2.1\0";
pub const IMPLICIT: &[u8] = b"1.2.840.10008.1.2\0";

/// An element in explicit little endian.
pub fn explicit(group: u16, element: u16, representation: &[u8; 2], value: &[u8]) -> Vec<u8> {
    let mut bytes = head(group, element, representation);
    if matches!(representation, b"OB" | b"OW" | b"SQ" | b"UN" | b"UT") {
        bytes.extend([0, 0]);
        bytes.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
    } else {
        bytes.extend(u16::try_from(value.len()).unwrap().to_le_bytes());
    }
    bytes.extend(value);
    bytes
}

/// An element whose length is declared as `length`, whatever follows.
pub fn declared(group: u16, element: u16, representation: &[u8; 2], length: u32) -> Vec<u8> {
    let mut bytes = head(group, element, representation);
    bytes.extend([0, 0]);
    bytes.extend(length.to_le_bytes());
    bytes
}

fn head(group: u16, element: u16, representation: &[u8; 2]) -> Vec<u8> {
    [&group.to_le_bytes()[..], &element.to_le_bytes(), representation].concat()
}

/// An element in implicit little endian, or an item.
pub fn implicit(group: u16, element: u16, value: &[u8]) -> Vec<u8> {
    let length = u32::try_from(value.len()).unwrap();
    [&group.to_le_bytes()[..], &element.to_le_bytes(), &length.to_le_bytes(), value].concat()
}

pub fn item(value: &[u8]) -> Vec<u8> {
    implicit(0xfffe, 0xe000, value)
}

/// A tag with a length that is not declared.
pub fn open(group: u16, element: u16) -> Vec<u8> {
    [&group.to_le_bytes()[..], &element.to_le_bytes(), &[0xff; 4]].concat()
}

/// The preamble, the file meta group and these elements.
pub fn file(syntax: &[u8], elements: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    bytes.extend(b"DICM");
    bytes.extend(explicit(2, 1, b"OB", &[0, 1]));
    bytes.extend(explicit(2, 0x10, b"UI", syntax));
    bytes.extend(elements.concat());
    bytes
}

/// Rows, columns and pixels of 512 by 256, in explicit little endian.
pub fn picture() -> Vec<u8> {
    [
        explicit(0x28, 0x10, b"US", &256_u16.to_le_bytes()),
        explicit(0x28, 0x11, b"US", &512_u16.to_le_bytes()),
        explicit(0x28, 0x100, b"US", &16_u16.to_le_bytes()),
        explicit(0x28, 0x101, b"US", &12_u16.to_le_bytes()),
        explicit(0x7fe0, 0x10, b"OW", &[1, 2, 3, 4]),
    ]
    .concat()
}
