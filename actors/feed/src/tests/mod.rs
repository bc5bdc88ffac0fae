//! The feed with subscribers, faults and kills.

mod answers;
mod crashes;
mod faults;
mod fixture;
mod properties;
mod ring;
mod store_faults;
mod transient;
