//! Binary differences by suffix sorting (Percival, Naive differences of executable code, 2003), in a container of our
//! own: `MDP1`, SHA-256 of the old and of the new image, then, compressed with Brotli: the length of the new image,
//! the number of control triples, the triples, the differences, the extra bytes.

use std::io::{Read, Write};

use muster_engine::prelude::*;
use sha2_11::{Digest as _, Sha256};

use super::MAX_IMAGE;

const MAGIC: &[u8; 4] = b"MDP1";
const HEAD: usize = 4 + 32 + 32;
const BUFFER: usize = 64 << 10;
/// Bytes by which a match must beat the one that continues before it (Percival's constant).
const BETTER: usize = 8;
/// Longest match that is looked for; a longer one continues in the next step.
const LONGEST: usize = 64 << 10;

/// Adds `add` bytes of the old image to as many differences, copies `copy` extra bytes, and moves `seek` bytes on in
/// the old image.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Control {
    add: usize,
    copy: usize,
    seek: i64,
}

/// Makes a patch.
pub fn diff(old: &[u8], new: &[u8]) -> Result<Vec<u8>, Failure> {
    let (controls, differences, extra) = compare(old, new);
    let mut body = Vec::new();
    body.extend((new.len() as u64).to_le_bytes());
    body.extend((controls.len() as u64).to_le_bytes());
    for control in &controls {
        body.extend((control.add as u64).to_le_bytes());
        body.extend((control.copy as u64).to_le_bytes());
        body.extend(control.seek.to_le_bytes());
    }
    body.extend(differences);
    body.extend(extra);
    let mut patch = MAGIC.to_vec();
    patch.extend(Sha256::digest(old));
    patch.extend(Sha256::digest(new));
    let mut writer = brotli::CompressorWriter::new(&mut patch, BUFFER, 9, 22);
    writer.write_all(&body).map_err(Failure::internal)?;
    drop(writer);
    Ok(patch)
}

/// Applies a patch; fails if it is damaged or of another image.
pub fn apply(old: &[u8], patch: &[u8]) -> Result<Vec<u8>, Failure> {
    let wrong = |message: &str| Failure::invalid(&["patch"], message.to_owned());
    let (head, packed) = patch.split_at_checked(HEAD).ok_or_else(|| wrong("is too short"))?;
    let hash_of = |from: usize| head.get(from..from + 32).unwrap_or_default();
    if !head.starts_with(MAGIC) {
        return Err(wrong("is no patch of this engine"));
    }
    if hash_of(4) != Sha256::digest(old).as_slice() {
        return Err(Failure::invalid(&["old"], "is not the image that the patch was made for"));
    }
    // Three numbers for at most each byte of the new image, and its bytes.
    let most = 16 + 25 * MAX_IMAGE as u64;
    let mut body = Vec::new();
    let read = brotli::Decompressor::new(packed, BUFFER).take(most).read_to_end(&mut body);
    read.map_err(|_| wrong("is damaged"))?;
    let new = rebuild(old, &body).ok_or_else(|| wrong("is damaged"))?;
    if hash_of(36) != Sha256::digest(&new).as_slice() {
        return Err(wrong("is damaged: it gives another image than it says"));
    }
    Ok(new)
}

fn rebuild(old: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| Some(u64::from_le_bytes(body.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let length = usize::try_from(number(0)?).ok().filter(|length| *length <= MAX_IMAGE)?;
    let count = usize::try_from(number(8)?).ok().filter(|count| *count <= length.saturating_add(1))?;
    let controls = (0..count).map(|n| {
        let at = 16 + 24 * n;
        let part = |at: usize| usize::try_from(number(at)?).ok();
        Some(Control { add: part(at)?, copy: part(at + 8)?, seek: number(at + 16)? as i64 })
    });
    let controls: Vec<Control> = controls.collect::<Option<_>>()?;
    let added = controls.iter().try_fold(0_usize, |sum, control| sum.checked_add(control.add))?;
    let start = 16 + 24 * count;
    let mut differences = body.get(start..start.checked_add(added)?)?.iter();
    let mut extra = body.get(start + added..)?.iter();
    let (mut new, mut place) = (Vec::with_capacity(length), 0_i64);
    for control in controls {
        if control.add > length || control.copy > length {
            return None;
        }
        for step in 0..control.add {
            let before = usize::try_from(place.checked_add(step as i64)?).ok().and_then(|at| old.get(at)).copied()?;
            new.push(differences.next()?.wrapping_add(before));
        }
        for _ in 0..control.copy {
            new.push(*extra.next()?);
        }
        place = place.checked_add(control.add as i64)?.checked_add(control.seek)?;
        if new.len() > length {
            return None;
        }
    }
    (new.len() == length && extra.next().is_none()).then_some(new)
}

/// Controls, differences and extra bytes that turn one image into the other.
fn compare(old: &[u8], new: &[u8]) -> (Vec<Control>, Vec<u8>, Vec<u8>) {
    let order = suffixes(old);
    let byte = |image: &[u8], at: i64| usize::try_from(at).ok().and_then(|at| image.get(at).copied());
    let (mut controls, mut differences, mut extra) = (Vec::new(), Vec::new(), Vec::new());
    let (mut scan, mut length, mut place) = (0_usize, 0_usize, 0_usize);
    let (mut last_scan, mut last_place, mut offset) = (0_usize, 0_i64, 0_i64);
    while scan < new.len() {
        let mut continued = 0_usize;
        scan += length;
        let mut ahead = scan;
        while scan < new.len() {
            (place, length) = search(&order, old, new.get(scan..).unwrap_or_default());
            while ahead < scan + length {
                continued += usize::from(byte(old, ahead as i64 + offset) == byte(new, ahead as i64));
                ahead += 1;
            }
            if (length == continued && length != 0) || length > continued + BETTER {
                break;
            }
            if byte(old, scan as i64 + offset).is_some_and(|before| Some(before) == byte(new, scan as i64)) {
                continued = continued.saturating_sub(1);
            }
            scan += 1;
        }
        if length == continued && scan < new.len() {
            continue;
        }
        // How far the last match reaches on, and this one back, with more right bytes than wrong ones.
        let reach = |limit: usize, same: &dyn Fn(usize) -> bool| {
            let (mut right, mut best, mut best_length) = (0_i64, 0_i64, 0_usize);
            for step in 1..=limit {
                right += i64::from(same(step));
                if right * 2 - step as i64 > best * 2 - best_length as i64 {
                    (best, best_length) = (right, step);
                }
            }
            best_length
        };
        let old_left = old.len().saturating_sub(usize::try_from(last_place).unwrap_or(usize::MAX));
        let forward_limit = (scan - last_scan).min(old_left);
        let mut forward = reach(forward_limit, &|step| {
            byte(old, last_place + step as i64 - 1) == byte(new, (last_scan + step - 1) as i64)
        });
        let mut backward = if scan < new.len() {
            reach((scan - last_scan).min(place), &|step| {
                byte(old, (place - step) as i64) == byte(new, (scan - step) as i64)
            })
        } else {
            0
        };
        if last_scan + forward > scan - backward {
            let overlap = last_scan + forward - (scan - backward);
            let (mut score, mut best, mut kept) = (0_i64, 0_i64, 0_usize);
            for step in 0..overlap {
                let in_new = last_scan + forward - overlap + step;
                let by_last = last_place + (forward - overlap + step) as i64;
                let by_this = (place - backward + step) as i64;
                score += i64::from(byte(new, in_new as i64) == byte(old, by_last));
                score -= i64::from(byte(new, in_new as i64) == byte(old, by_this));
                if score > best {
                    (best, kept) = (score, step + 1);
                }
            }
            forward = forward + kept - overlap;
            backward -= kept;
        }
        for step in 0..forward {
            let (before, after) = (byte(old, last_place + step as i64), byte(new, (last_scan + step) as i64));
            differences.push(after.unwrap_or_default().wrapping_sub(before.unwrap_or_default()));
        }
        let gap = scan - backward - (last_scan + forward);
        extra.extend(new.iter().skip(last_scan + forward).take(gap));
        let next = place as i64 - backward as i64;
        let seek = if scan < new.len() { next - (last_place + forward as i64) } else { 0 };
        controls.push(Control { add: forward, copy: gap, seek });
        last_scan = scan - backward;
        last_place = next;
        offset = place as i64 - scan as i64;
    }
    (controls, differences, extra)
}

/// Positions of all suffixes in the order of their bytes, by doubling the compared length.
fn suffixes(image: &[u8]) -> Vec<u32> {
    let count = image.len();
    let mut order: Vec<u32> = (0..count as u32).collect();
    let mut rank: Vec<u32> = image.iter().map(|byte| u32::from(*byte) + 1).collect();
    let mut length = 1;
    loop {
        let key = |at: u32| {
            let at = at as usize;
            (rank.get(at).copied().unwrap_or_default(), rank.get(at + length).copied().unwrap_or_default())
        };
        order.sort_unstable_by_key(|at| key(*at));
        let mut next = vec![0; count];
        let (mut current, mut before) = (0, None);
        for at in &order {
            let this = key(*at);
            current += u32::from(before != Some(this));
            before = Some(this);
            if let Some(slot) = next.get_mut(*at as usize) {
                *slot = current;
            }
        }
        rank = next;
        if current as usize >= count || length >= count {
            return order;
        }
        length *= 2;
    }
}

/// Where the longest match of a text begins in the old image, and its length, up to [`LONGEST`].
fn search(order: &[u32], old: &[u8], text: &[u8]) -> (usize, usize) {
    let text = text.get(..LONGEST).unwrap_or(text);
    let suffix = |at: u32| old.get(at as usize..).unwrap_or_default();
    let above = order.partition_point(|at| suffix(*at) < text);
    let neighbours = [above.checked_sub(1), Some(above)];
    let matched = neighbours.into_iter().flatten().filter_map(|at| {
        let at = *order.get(at)?;
        Some((at as usize, suffix(at).iter().zip(text).take_while(|(a, b)| a == b).count()))
    });
    matched.max_by_key(|(_, length)| *length).unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(seed: u32, length: u32) -> Vec<u8> {
        (0..length)
            .map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(0x9e37_79b9)) >> 24) as u8)
            .collect()
    }

    #[test]
    fn each_patch_restores_the_new_image() {
        let old = image(1, 3000);
        let mut moved = old.clone();
        moved.rotate_left(700);
        moved[1500] ^= 0xff;
        let mut inserted = old.clone();
        inserted.splice(1000..1000, *b"new code here");
        for new in [old.clone(), moved, inserted, image(99, 2500), Vec::new(), vec![0; 5000], old[..100].to_vec()] {
            let patch = diff(&old, &new).unwrap();
            assert_eq!(apply(&old, &patch).unwrap(), new);
        }
        assert_eq!(apply(&[], &diff(&[], b"first").unwrap()).unwrap(), b"first");
    }

    #[test]
    fn a_small_change_has_a_small_patch() {
        let old = image(1, 20_000);
        let mut new = old.clone();
        for at in (0..new.len()).step_by(2000) {
            new[at] = new[at].wrapping_add(4);
        }
        assert!(diff(&old, &new).unwrap().len() < 400);
    }

    #[test]
    fn each_flipped_bit_is_refused() {
        let (old, new) = (image(1, 300), image(1, 320));
        let patch = diff(&old, &new).unwrap();
        for bit in 0..patch.len() * 8 {
            let mut flipped = patch.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // A bit that the compression does not use may change nothing; it never gives another image.
            assert!(apply(&old, &flipped).is_err() || apply(&old, &flipped).unwrap() == new, "{bit}");
        }
        assert!(apply(&image(2, 300), &patch).is_err());
    }

    #[test]
    fn suffixes_are_in_order() {
        for text in [&b"banana"[..], b"aaaaaaaa", b"", b"mississippi"] {
            let order = suffixes(text);
            assert!(order.windows(2).all(|pair| text[pair[0] as usize..] < text[pair[1] as usize..]));
        }
    }
}
