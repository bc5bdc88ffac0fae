//! The live monitor of agents (q62): who sees what, what is told, what may be commanded.

mod commands;
mod doors;
mod double;
mod program;
mod stream;
mod terminal;
