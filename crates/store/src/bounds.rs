//! Bounds of requests to the store, checked once at the port and identical for every implementation.

use crate::{Batch, Op, Rec, Scan, StoreError};

/// Largest key, in bytes.
pub const MAX_KEY: usize = 4 << 10;
/// Largest value stored inside the engine, in bytes; larger ones become files of their own.
pub const MAX_INLINE: usize = 16 << 10;
/// Largest value, in bytes.
pub const MAX_VALUE: usize = 4 << 20;
/// Maximum number of writes, and of preconditions, in one batch.
pub const MAX_BATCH_OPS: usize = 4_096;
/// Maximum total size of the keys and values in one batch, in bytes.
pub const MAX_BATCH_BYTES: usize = 16 << 20;
/// Maximum number of records in one page of a scan.
pub const MAX_PAGE: usize = 1_000;
/// A page ends early once its values exceed this many bytes.
pub(crate) const MAX_PAGE_BYTES: usize = 8 << 20;

/// Rejects a batch that is out of bounds; returns its size in bytes.
pub(crate) fn check_batch(batch: &Batch) -> Result<usize, StoreError> {
    if batch.ops.len() > MAX_BATCH_OPS || batch.expect.len() > MAX_BATCH_OPS {
        return Err(bad(format!("a batch holds at most {MAX_BATCH_OPS} writes and as many preconditions")));
    }
    let mut bytes = 0;
    for op in &batch.ops {
        bytes += match op {
            Op::Put { key, rec, .. } => check_key(key)? + check_value(rec)?,
            Op::Delete { key, .. } => check_key(key)?,
            Op::Append { rec, .. } => check_value(rec)?,
        };
        crate::appended::check_op(op)?;
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

/// Rejects an empty or overlong key; returns its length.
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

/// Returns the maximum number of records for a page of this scan.
pub(crate) fn check_scan(scan: &Scan) -> Result<usize, StoreError> {
    match scan.limit {
        0 => Err(bad("a scan's limit must be at least 1".into())),
        limit => Ok(limit.min(MAX_PAGE)),
    }
}

fn bad(why: String) -> StoreError {
    StoreError::BadRequest(why)
}
