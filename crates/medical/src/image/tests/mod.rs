//! Files built by hand, element by element.

mod blocks;
mod build;
mod dicom;
