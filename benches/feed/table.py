"""How the feed's benchmarks are printed: a line for each side, and every aim beside what was measured."""

HEADS = ("", "conns", "KiB/conn", "us/delivery", "coalesced/CPU-s", "a read", "p50 ms", "p99 ms", "lost")
WIDTHS = (10, 6, 9, 12, 16, 7, 8, 9, 6)


def row(cells):
    print("  ".join(str(cell).rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)), flush=True)


def formatted(figure, digits=1):
    return f"{figure:.{digits}f}" if figure is not None else ""


def loads(connections, runs):
    print(f"\n{connections} connections")
    row(HEADS)
    for run in runs:
        row((run["side"], connections, formatted(run["kib_per_connection"]), formatted(run["us_per_delivery"]),
             f"{run['coalesced_per_cpu_s'] / 1e3:.0f} k", formatted(run["per_read"]), formatted(run["p50_ms"], 2),
             formatted(run["p99_ms"], 2), int(run["dead"])))


def scene(name, by_side):
    print(f"\n{name}")
    for side, figures in by_side.items():
        if figures is None:
            print(f"  {side:8} NOT MEASURED")
            continue
        summary = ", ".join(f"{key} {formatted(value) if isinstance(value, float) else value}" for key, value in figures.items())
        print(f"  {side:8} {summary}", flush=True)


def aims(found, sides):
    """Prints each aim beside the figure of each side."""
    by_run = {(run["side"], run["connections"]): run for run in found.get("load", [])}

    def load(figure, connections):
        return lambda side: by_run.get((side, connections), {}).get(figure)

    def of(name, figure):
        return lambda side: ((found.get(name) or {}).get(side) or {}).get(figure)

    rows = (
        ("KiB a connection, 10,000", load("kib_per_connection", 10_000), 6, "<="),
        ("CPU us a delivery, 1,000", load("us_per_delivery", 1000), 6.5, "<="),
        ("coalesced a CPU-s, 1,000", load("coalesced_per_cpu_s", 1000), 1_500_000, ">="),
        ("KiB of a stalled reader", of("stalled", "kib_a_stalled"), 2048, "<="),
        ("s until it is gone", of("stalled", "evicted_s"), 15, "<="),
        ("ms from revoke to close, p99", of("revoked", "p99_ms"), 100, "<="),
        ("ms to resume 500 events", of("resumed", "median_ms"), 50, "<="),
        ("s until ready, 100,000 devices", of("restart", "ready_s"), 2, "<="),
    )
    print("\naims")
    for what, figure, aim, mode in rows:
        figures = {side: figure(side) for side in sides}
        if not any(got is not None for got in figures.values()):
            print(f"  {what:32} {'':8} {'':12}  {mode} {aim:<9} NOT MEASURED")
            continue
        for side, got in figures.items():
            if got is None:
                verdict = "NOT MEASURED"
            else:
                verdict = "met" if (got <= aim if mode == "<=" else got >= aim) else "MISSED"
            print(f"  {what:32} {side:8} {formatted(got):>12}  {mode} {aim:<9} {verdict}")
