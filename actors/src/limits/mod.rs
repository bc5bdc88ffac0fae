//! limits.
