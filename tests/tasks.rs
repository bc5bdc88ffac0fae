//! Agents' tasks over HTTP: run, watched, listed, controlled, and there after the server was killed.

mod control;
mod control_requests;
mod ending;
mod flood;
mod lane;
mod listeners;
mod reads;
mod run;
mod streams;
mod watched;
mod world;
