//! The platform's own operation (q58, q59).

mod log_patterns;
mod slo_burn;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[&log_patterns::ENGINE, &slo_burn::ENGINE];
