//! Background embedding with slow, failing and absent models.

pub(crate) mod model;
mod queries;
mod rounds;
