//! Every engine of this build against its own definition, the catalogue, and inputs that nobody wrote.

mod catalogue;
mod definitions;
mod random;
