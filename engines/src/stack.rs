//! Large stacks for interpreters and parsers that recurse as deeply as their input is nested.

use crate::{Context, Failure};

/// Stack size in bytes for interpreters; memory is committed when touched.
pub const STACK: usize = 256 * 1024 * 1024;

/// Runs `work` on its own thread with a stack of the given size, which does not count as the call's memory.
///
/// # Errors
/// `Internal` if no thread can be started, and `fallen` if the work panics: a library bug triggered by the input.
pub fn on_stack<T: Send>(
    context: &Context,
    bytes: usize,
    fallen: impl FnOnce() -> Failure,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let _room = context.stack_room(bytes);
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("engine".to_owned()).stack_size(bytes);
        let thread = builder.spawn_scoped(scope, work).map_err(Failure::internal)?;
        thread.join().unwrap_or_else(|_| Err(fallen()))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn room_is_made_for_as_long_as_the_stack_stands() {
        let asked = Arc::<Mutex<Vec<usize>>>::default();
        let heard = Arc::clone(&asked);
        let context = Context::default().with_stacks(move |bytes| heard.lock().unwrap().push(bytes));
        let fallen = || Failure::invalid(&[], "fallen");
        assert_eq!(on_stack(&context, 1 << 20, fallen, || Ok(7)), Ok(7));
        assert_eq!(*asked.lock().unwrap(), [1 << 20, 0]);
        assert_eq!(on_stack(&context, 2 << 20, fallen, || -> Result<u8, _> { panic!("it broke") }), Err(fallen()));
        assert_eq!(*asked.lock().unwrap(), [1 << 20, 0, 2 << 20, 0]);
    }
}
