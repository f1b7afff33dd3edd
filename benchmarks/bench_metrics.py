"""What metrics cost the event loop: counting a choice, and copying the counts for a scrape."""

from timeit import repeat

from mlxp_core.types import RequestRecord, Timing, Usage
from mlxp_metrics.tally import Tally

RUNS = 20_000
SURFACES, MODELS = 3, 2


def main() -> None:
    """Measure and print."""
    tally = Tally()
    records = [
        RequestRecord(
            request_id="r",
            protocol=f"surface-{surface}",
            model=f"model-{model}",
            usage=Usage(prompt=900, cached=700, completion=200, thinking=50),
            timing=Timing(queued_s=0.01, prefill_s=0.4, decode_s=4.0),
            reason="stop",
        )
        for surface in range(SURFACES)
        for model in range(MODELS)
    ]

    def count() -> None:
        for record in records:
            tally.add(record)

    counted = min(repeat(count, number=RUNS // len(records), repeat=5)) / RUNS
    copied = min(repeat(tally.copy, number=100, repeat=5)) / 100
    print(f"count a choice: {counted * 1e6:.1f} µs")
    print(f"copy for a scrape ({SURFACES} surfaces, {MODELS} models): {copied * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
