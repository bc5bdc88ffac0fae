//! A stack that is large enough for interpreters that recurse as deeply as their input is nested.

use crate::Failure;

/// Bytes of address space; memory is taken as it is touched.
pub const STACK: usize = 256 * 1024 * 1024;

/// Runs `work` on a thread of its own, whose stack holds [`STACK`] bytes.
///
/// # Errors
/// `Internal` where no thread can be had, and `fallen` where the work panics: a fault of a library that the input found.
pub fn on_large_stack<T: Send>(
    fallen: impl FnOnce() -> Failure,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("engine".to_owned()).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, work).map_err(Failure::internal)?;
        thread.join().unwrap_or_else(|_| Err(fallen()))
    })
}
