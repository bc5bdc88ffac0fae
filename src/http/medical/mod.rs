//! The medical interface: consultation, protocols, cancer referral criteria and status.

mod answering;
mod body;
mod cancer;
mod chat;
mod conversations;
mod described;
mod described_cancer;
mod enumerated;
mod fhir;
mod images;
mod previous;
mod protocols;
mod reader;
mod status;
mod streamed;

use crate::route::operations;

operations! {
    chat::chat,
    protocols::lookup,
    status::status,
    cancer::assess,
    conversations::get,
    conversations::delete,
}
