//! Agents: personas with a toolbox of engines and a plan, as data, and how their tasks are worked on.
