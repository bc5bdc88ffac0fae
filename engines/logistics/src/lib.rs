//! Engines of emergency logistics and operations research: q63 to q82.

#![warn(missing_docs)]

mod bounds;

mod building_egress;
mod critical_path;
mod decision_rank;
mod facility_location;
mod field_power_plan;
mod inventory_policy;
mod queue_staffing;
mod relief_supply_plan;
mod search_effort;
mod search_pattern;
mod shelter_allocation;
mod team_assignment;
mod water_chlorination;

muster_engine::family!("logistics";
    63 shelter_allocation, 66 building_egress, 67 team_assignment, 68 facility_location, 69 queue_staffing,
    70 inventory_policy, 71 relief_supply_plan, 72 water_chlorination, 74 search_effort, 75 search_pattern,
    77 critical_path, 81 field_power_plan, 82 decision_rank,
);
