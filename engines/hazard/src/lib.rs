//! Engines of the family hazard. Weather & hazard: q21 to q46.

#![warn(missing_docs)]

mod aftershock_forecast;
mod air_quality_index;
mod avalanche_runout;
mod blast_effects;
mod channel_hydraulics;
mod cold_stress;
mod cyclone_classify;
mod cyclone_wind_field;
mod dam_breach;
mod drought_index;
mod earthquake_source;
mod evapotranspiration;
mod fire_spread;
mod fire_weather_index;
mod flood_frequency;
mod gaussian_plume;
mod ground_motion;
mod heat_stress;
mod landslide_stability;
mod lightning_safety;
mod metar_decode;
mod peak_flow_rational;
mod radiation_dose;
mod roots;
mod runoff_curve_number;
mod scaling;
mod solar_day;
mod table;
mod tsunami_travel;

muster_engine::family!("hazard";
    21 heat_stress,
    22 cold_stress,
    23 evapotranspiration,
    24 solar_day,
    25 metar_decode,
    26 air_quality_index,
    27 cyclone_classify,
    28 cyclone_wind_field,
    29 fire_weather_index,
    30 fire_spread,
    31 runoff_curve_number,
    32 peak_flow_rational,
    33 channel_hydraulics,
    34 flood_frequency,
    35 dam_breach,
    36 drought_index,
    37 gaussian_plume,
    38 blast_effects,
    39 radiation_dose,
    40 earthquake_source,
    41 ground_motion,
    42 aftershock_forecast,
    43 tsunami_travel,
    44 lightning_safety,
    45 avalanche_runout,
    46 landslide_stability,
);
