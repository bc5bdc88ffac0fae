//! Engines of emergency logistics and operations research: q63 to q82.

#![warn(missing_docs)]

mod bounds;

mod building_egress;
mod cargo_load;
mod casualty_flow_sim;
mod critical_path;
mod decision_rank;
mod evacuation_clearance;
mod facility_location;
mod field_power_plan;
mod inventory_policy;
mod linear_program;
mod queue_staffing;
mod relief_supply_plan;
mod sea_drift;
mod search_effort;
mod search_pattern;
mod shelter_allocation;
mod task_schedule;
mod team_assignment;
mod vehicle_routing;
mod water_chlorination;

muster_engine::family!("logistics";
    63 shelter_allocation, 64 vehicle_routing, 65 evacuation_clearance, 66 building_egress, 67 team_assignment,
    68 facility_location, 69 queue_staffing, 70 inventory_policy, 71 relief_supply_plan, 72 water_chlorination,
    73 casualty_flow_sim, 74 search_effort, 75 search_pattern, 76 sea_drift, 77 critical_path, 78 task_schedule,
    79 linear_program, 80 cargo_load, 81 field_power_plan, 82 decision_rank,
);
