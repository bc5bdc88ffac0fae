//! LEB128: seven bits a byte, the lowest first.

pub(super) fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Takes one off the front; none where the bytes end within it or it is longer than 64 bits.
pub(super) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    let mut value = u64::from(first & 0x7f);
    if *first < 0x80 {
        return Some(value);
    }
    for shift in (7..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

pub(super) fn read_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(read(bytes)?).ok()
}
