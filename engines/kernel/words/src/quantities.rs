//! Numbers with units, positions and days that stand in a text, with the bytes where they stand.
//!
//! A number is returned only if it has one reading: not one of a range ("10 to 20 m"), a bound ("over 200"), a time of
//! day, a date, an identifier ("B12", "q7") or a number with a decimal comma.

mod coordinates;
mod days;
mod numbers;
mod units;

pub use coordinates::{Coordinate, coordinates};
pub use days::{Day, Moment, days, moments};
pub use numbers::{Quantity, quantities};
pub use units::{Dimension, Unit, alternatives, convert, unit};
