//! Engines of networks and graphs: q47 to q56.

mod bounds;
mod lowlink;

pub mod cascade_failure;
pub mod community_detect;
pub mod graph_centrality;
pub mod graph_resilience;
pub mod lora_airtime;
pub mod max_flow;
pub mod network_reliability;
pub mod radio_path;
pub mod shortest_path;
pub mod spanning_tree;

muster_engine::family!("network";
    47 shortest_path, 48 graph_centrality, 49 graph_resilience, 50 spanning_tree, 51 max_flow, 52 community_detect,
    53 network_reliability, 54 cascade_failure, 55 radio_path, 56 lora_airtime,
);
