//! Language-model providers: one internal chat form, an adapter for each wire, the catalogue of models.
//!
//! Knows no actor and no server: the chain and the breakers stand above.

mod adapter;
mod chat;
mod fault;

pub use adapter::Adapter;
pub use chat::{
    Call, ChatEvent, ChatReply, ChatRequest, ChatStream, FinishReason, Message, ResponseFormat,
    Role, Sampling, Timeouts, Usage,
};
pub use fault::{ClientFault, Fault, FaultClass, Phase};
