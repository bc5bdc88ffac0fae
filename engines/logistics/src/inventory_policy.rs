//! q70: stock and reorder policy.

use muster_engine::prelude::*;
use muster_kernel_numeric::dist::{normal_pdf, normal_quantile, normal_sf};

use crate::bounds::positive;

const DAYS: f64 = 365.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    demand_rate: f64,
    demand_sd: f64,
    lead_time_d: f64,
    lead_time_sd_d: f64,
    order_cost: f64,
    unit_cost: f64,
    holding_rate_per_yr: f64,
    service_level: f64,
    shortage_cost: Option<f64>,
    salvage: f64,
}

/// Output of the engine. The newsvendor's quantity is absent without a shortage cost.
#[derive(Output)]
pub struct Output {
    eoq: f64,
    reorder_point: f64,
    safety_stock: f64,
    orders_per_year: f64,
    fill_rate: f64,
    annual_cost: f64,
    newsvendor_quantity: Option<f64>,
}

/// Computes a continuous-review policy. The service level is the probability of no stock-out in a cycle. The season of
/// the newsvendor is one lead time; the underage cost is the shortage cost, the overage cost the unit cost less salvage.
///
/// # Errors
/// No demand, a unit cost or holding rate of 0, a salvage value that is not below the unit cost.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    positive(&["demand_rate"], input.demand_rate)?;
    positive(&["unit_cost"], input.unit_cost)?;
    positive(&["holding_rate"], input.holding_rate_per_yr)?;
    let annual = input.demand_rate * DAYS;
    let holding = input.holding_rate_per_yr * input.unit_cost;
    let lead_demand = input.demand_rate * input.lead_time_d;
    let variance = input.lead_time_d * input.demand_sd.powi(2) + (input.demand_rate * input.lead_time_sd_d).powi(2);
    let deviation = variance.sqrt();
    let z = normal_quantile(input.service_level);
    let safety = z * deviation;
    // Without an order cost there is no reason to wait: the order is a day's demand.
    let eoq = (2.0 * annual * input.order_cost / holding).sqrt();
    let lot = if eoq > 0.0 { eoq } else { input.demand_rate };
    if eoq <= 0.0 {
        cx.warn("assumed: without an order cost, orders are daily");
    }
    let short = deviation * (normal_pdf(z) - z * normal_sf(z));
    cx.step("demand during the lead time", lead_demand, "units");
    cx.step("its standard deviation", deviation, "units");
    cx.step("units short in a cycle", short, "units");
    let orders = annual / lot;
    let newsvendor = match input.shortage_cost {
        None => None,
        Some(under) => {
            let over = input.unit_cost - input.salvage;
            positive(&["shortage_cost"], under)?;
            if over <= 0.0 {
                return Err(Failure::invalid(&["salvage"], "must be below the unit cost"));
            }
            let ratio = under / (under + over);
            cx.step("critical ratio", ratio, "-");
            Some((lead_demand + deviation * normal_quantile(ratio)).max(0.0))
        }
    };
    Ok(Output {
        eoq,
        reorder_point: lead_demand + safety,
        safety_stock: safety,
        orders_per_year: orders,
        fill_rate: (1.0 - short / lot).clamp(0.0, 1.0),
        annual_cost: orders * input.order_cost + holding * (lot / 2.0 + safety) + annual * input.unit_cost,
        newsvendor_quantity: newsvendor,
    })
}
