//! muster-store.
