//! Keeps panics of the engine inside this crate: sled panics on some corrupt data instead of returning an error.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::StoreError;

/// Runs a call into the engine and converts a panic into `StoreError::Corrupt`.
pub(crate) fn catch_panics<T>(what: &str, call: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(StoreError::Corrupt(format!("{what}: the engine panicked: {}", text(&*panic)))))
}

/// Returns the message of a panic.
pub(crate) fn text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "no message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_carries_its_message() {
        let found: Result<(), _> = catch_panics("get", || panic!("bad page {}", 7));
        assert_eq!(found, Err(StoreError::Corrupt("get: the engine panicked: bad page 7".into())));
    }
}
