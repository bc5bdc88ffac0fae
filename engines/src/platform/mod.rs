//! The platform's own operation (q58).

mod log_patterns;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[&log_patterns::ENGINE];
