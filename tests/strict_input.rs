//! Unknown members and parameters are refused on every route of the dialects disaster and agent, before any effect. The
//! exceptions are listed here, each with its reason.

mod described;
mod messages;
mod routes;
