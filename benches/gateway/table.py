"""How the gateway's benchmarks are printed: a line for each side, its ratios to the floors of the same rounds."""

HEADS = ("", "conns", "req/s", "p50 us", "p99 us", "/direct", "/relay", "ttft p50", "itl p99", "cpu us/req", "/relay",
         "cpu us/ev", "errors")
WIDTHS = (12, 5, 8, 8, 8, 7, 7, 8, 8, 10, 7, 9, 6)


def row(cells):
    print("  ".join(str(cell).rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)), flush=True)


def head(label):
    print(f"\n{label}")
    row(HEADS)


def ratio(figure, floor):
    return f"{figure / floor:.2f}" if floor else ""


def lines(connections, by_side):
    """The sides measured at so many connections. `/direct` and `/relay` divide the median latency, then the CPU."""
    direct, relay = by_side.get("direct"), by_side.get("bare relay")
    for name, got in by_side.items():
        # A floor is not compared with the sides above it.
        to_direct = ratio(got["p50"], direct["p50"]) if direct and got is not direct else ""
        above_relay = relay and got is not direct and got is not relay
        figures = "p50", "cpu_us_req"
        to_relay, cpu_to_relay = (ratio(got[what], relay[what]) if above_relay else "" for what in figures)
        row((name, connections, f"{got['rps']:.0f}", f"{got['p50']:.0f}", f"{got['p99']:.0f}", to_direct, to_relay,
             formatted(got["ttft_p50"]), formatted(got["itl_p99"]), f"{got['cpu_us_req']:.1f}", cpu_to_relay,
             f"{got['cpu_us_event']:.2f}" if got["cpu_us_event"] else "", sum(got["errors"].values()) or ""))


def formatted(figure):
    return f"{figure:.0f}" if figure else ""


def errors(results):
    """Prints all failures; returns their number."""
    count = 0
    for run in results:
        for what, times in run["errors"].items():
            count += times
            print(f"ERRORS: {run['side']}, {run['load']}, {run['connections']} connections: {times} x {what}")
    if count:
        print(f"ERRORS: {count} requests failed: the figures of those lines do not count")
    return count
