//! Agents' tasks over HTTP: run, watched, listed, controlled, and resumed after a kill of the server.

mod control;
mod control_requests;
mod flood;
mod lane;
mod listeners;
mod reads;
mod run;
mod shutdown;
mod streams;
mod watched;
pub mod world;
