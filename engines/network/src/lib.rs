//! Engines of networks and graphs: q47 to q56.

#![warn(missing_docs)]

mod bounds;
mod lowlink;

mod cascade_failure;
mod community_detect;
mod graph_centrality;
mod graph_resilience;
mod lora_airtime;
mod max_flow;
mod network_reliability;
mod radio_path;
mod shortest_path;
mod spanning_tree;

muster_engine::family!("network";
    47 shortest_path, 48 graph_centrality, 49 graph_resilience, 50 spanning_tree, 51 max_flow, 52 community_detect,
    53 network_reliability, 54 cascade_failure, 55 radio_path, 56 lora_airtime,
);
