//! muster-actors.
