//! q56: LoRa airtime and duty cycle.

use muster_engine::prelude::*;

/// Symbol time in milliseconds above which the low-data-rate optimisation is switched on.
const LOW_RATE_SYMBOL_MS: f64 = 16.0;
/// Noise figure of the SX1276 in dB.
const NOISE_FIGURE_DB: f64 = 6.0;
/// Symbols of the preamble that the modem adds.
const SYNC_SYMBOLS: f64 = 4.25;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    payload: i32,
    spreading_factor: i32,
    bandwidth_khz: f64,
    coding_rate: i32,
    preamble: i32,
    explicit_header: bool,
    crc: bool,
    duty_cycle_percent: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    airtime_ms: f64,
    bitrate_bit_s: f64,
    wait_s: f64,
    messages_per_hour: i64,
    sensitivity_dbm: f64,
}

/// Computes the time on air by the formula of AN1200.13 and what follows from it.
///
/// # Errors
/// A bandwidth or duty cycle of 0, a negative preamble, an explicit header at spreading factor 6.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.bandwidth_khz <= 0.0 {
        return Err(Failure::invalid(&["bandwidth"], "must be positive"));
    }
    if input.duty_cycle_percent <= 0.0 {
        return Err(Failure::invalid(&["duty_cycle"], "must be positive: with 0 nothing may be sent"));
    }
    if !(0..=65_535).contains(&input.preamble) {
        return Err(Failure::invalid(&["preamble"], "must be between 0 and 65535"));
    }
    if input.spreading_factor == 6 && input.explicit_header {
        let message = "must be false at spreading factor 6, which has no explicit header";
        return Err(Failure::invalid(&["explicit_header"], message));
    }
    let factor = f64::from(input.spreading_factor);
    let symbol_ms = factor.exp2() / input.bandwidth_khz;
    let low_rate = symbol_ms > LOW_RATE_SYMBOL_MS;
    let flag = |set: bool| f64::from(u8::from(set));
    let bits = 8.0 * f64::from(input.payload) - 4.0 * factor + 28.0 + 16.0 * flag(input.crc)
        - 20.0 * flag(!input.explicit_header);
    let blocks = (bits / (4.0 * (factor - 2.0 * flag(low_rate)))).ceil().max(0.0);
    let payload_symbols = 8.0 + blocks * f64::from(input.coding_rate + 4);
    let airtime_ms = (f64::from(input.preamble) + SYNC_SYMBOLS + payload_symbols) * symbol_ms;
    cx.step("symbol time", symbol_ms, "ms");
    cx.step("symbols of the payload", payload_symbols, "-");
    cx.step("low-data-rate optimisation", low_rate, "-");
    let duty = input.duty_cycle_percent / 100.0;
    let per_hour = 3_600_000.0 * duty / airtime_ms;
    Ok(Output {
        airtime_ms,
        bitrate_bit_s: factor * 4.0 / f64::from(4 + input.coding_rate) / symbol_ms * 1_000.0,
        wait_s: airtime_ms * (1.0 / duty - 1.0) / 1_000.0,
        // Finite, as airtime is positive.
        messages_per_hour: per_hour.floor() as i64,
        sensitivity_dbm: -174.0
            + 10.0 * (input.bandwidth_khz * 1_000.0).log10()
            + NOISE_FIGURE_DB
            + 2.5 * (4.0 - factor),
    })
}
