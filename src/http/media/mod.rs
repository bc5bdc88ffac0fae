//! Vision, images and translation of interface A.

mod languages;
mod translate;

use crate::route::operations;

operations! {
    translate::translate,
    languages::list,
}
