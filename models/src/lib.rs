//! muster-models.
