//! Agents' tasks over HTTP: run, watched, listed, controlled, and there after the server was killed.

mod control;
mod ending;
mod reads;
mod run;
mod world;
