//! Tests of the public interface, including crashes and damaged files.

#[cfg(test)]
mod disk;
#[cfg(test)]
mod flips;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod model;
#[cfg(test)]
mod support;
