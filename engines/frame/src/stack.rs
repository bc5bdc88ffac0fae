//! Large stacks for interpreters and parsers that recurse as deeply as their input is nested.

use crate::{Context, Failure};

/// Stack size in bytes for interpreters; memory is committed when touched.
pub const STACK: usize = 256 * 1024 * 1024;

/// Runs `work` on its own thread with a stack of the given size, which does not count as the call's memory.
///
/// # Errors
/// `Internal` if no thread can be started, and `on_panic` if the work panics: a library bug triggered by the input.
pub fn on_stack<T: Send>(
    context: &Context,
    bytes: usize,
    on_panic: impl FnOnce() -> Failure,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let _reservation = context.reserve_stack(bytes);
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("engine".to_owned()).stack_size(bytes);
        let thread = builder.spawn_scoped(scope, work).map_err(Failure::internal)?;
        thread.join().unwrap_or_else(|_| Err(on_panic()))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn stack_memory_is_reserved_until_the_work_ends() {
        let reservations = Arc::<Mutex<Vec<usize>>>::default();
        let recorded = Arc::clone(&reservations);
        let context = Context::default().with_stacks(move |bytes| recorded.lock().unwrap().push(bytes));
        let on_panic = || Failure::invalid(&[], "on_panic");
        assert_eq!(on_stack(&context, 1 << 20, on_panic, || Ok(7)), Ok(7));
        assert_eq!(*reservations.lock().unwrap(), [1 << 20, 0]);
        assert_eq!(on_stack(&context, 2 << 20, on_panic, || -> Result<u8, _> { panic!("it broke") }), Err(on_panic()));
        assert_eq!(*reservations.lock().unwrap(), [1 << 20, 0, 2 << 20, 0]);
    }
}
