//! What a request may ask for. Checked once, at the port, the same for every store.

use crate::{Batch, Op, Rec, Scan, StoreError};

/// Longest key, in bytes.
pub const MAX_KEY: usize = 4 << 10;
/// Longest value kept inside the engine, in bytes; longer ones become files of their own.
pub const MAX_INLINE: usize = 16 << 10;
/// Longest value, in bytes.
pub const MAX_VALUE: usize = 4 << 20;
/// Most writes and preconditions, each, in one batch.
pub const MAX_BATCH_OPS: usize = 4_096;
/// Most bytes of keys and values in one batch.
pub const MAX_BATCH_BYTES: usize = 16 << 20;
/// Most records in one page of a scan.
pub const MAX_PAGE: usize = 1_000;
/// A page ends early once its values exceed this many bytes.
pub(crate) const MAX_PAGE_BYTES: usize = 8 << 20;

/// Refuses what is out of bounds; answers how many bytes the batch holds.
pub(crate) fn check_batch(batch: &Batch) -> Result<usize, StoreError> {
    if batch.ops.len() > MAX_BATCH_OPS || batch.expect.len() > MAX_BATCH_OPS {
        return Err(bad(format!("a batch holds at most {MAX_BATCH_OPS} writes and as many preconditions")));
    }
    let mut bytes = 0;
    for op in &batch.ops {
        bytes += match op {
            Op::Put { key, rec, .. } => check_key(key)? + check_value(rec)?,
            Op::Delete { key, .. } => check_key(key)?,
        };
    }
    for (_, key, expect) in &batch.expect {
        bytes += check_key(key)?;
        if let crate::Expect::Is(rec) = expect {
            bytes += check_value(rec)?;
        }
    }
    if bytes > MAX_BATCH_BYTES {
        return Err(bad(format!("a batch of {bytes} bytes is over {MAX_BATCH_BYTES}: split it")));
    }
    Ok(bytes)
}

/// Refuses an empty or overlong key; answers its length.
pub(crate) fn check_key(key: &[u8]) -> Result<usize, StoreError> {
    match key.len() {
        0 => Err(bad("a key must not be empty".into())),
        len if len > MAX_KEY => Err(bad(format!("a key of {len} bytes is over {MAX_KEY}"))),
        len => Ok(len),
    }
}

fn check_value(rec: &Rec) -> Result<usize, StoreError> {
    match rec.bytes.len() {
        len if len > MAX_VALUE => Err(bad(format!("a value of {len} bytes is over {MAX_VALUE}"))),
        len => Ok(len),
    }
}

/// How many records the page may hold.
pub(crate) fn check_scan(scan: &Scan) -> Result<usize, StoreError> {
    match scan.limit {
        0 => Err(bad("a scan's limit must be at least 1".into())),
        limit => Ok(limit.min(MAX_PAGE)),
    }
}

fn bad(why: String) -> StoreError {
    StoreError::BadRequest(why)
}
