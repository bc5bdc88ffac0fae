//! Vision, images and translation of interface A.

mod languages;
mod translate;
mod vision;

use crate::route::operations;

operations! {
    vision::see,
    translate::translate,
    languages::list,
}
