//! Agents' tasks over HTTP: run, watched, listed, controlled, and there after the server was killed.

mod control;
mod flood;
mod lane;
mod listeners;
mod reads;
mod run;
mod shutdown;
mod streams;
mod watched;
mod world;
