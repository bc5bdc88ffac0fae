//! muster-providers.
