//! The store as its callers see it, and what it keeps when it is killed or its files rot.

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
