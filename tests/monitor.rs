//! The live monitor of agents (q62): visibility, events and commands.

mod access;
mod commands;
mod double;
mod program;
mod stream;
mod terminal;
