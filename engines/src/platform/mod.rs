//! The platform's own operation (q58).

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[];
