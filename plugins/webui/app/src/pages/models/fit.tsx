import type { FitReport } from "../../api/answers";
import { format, Meter } from "../../parts";

const CLOSE = 0.9;

/** How one answer of so many tokens fits this machine, as a bar: weights, what it keeps, what passes take. */
export function FitBar({ report }: { readonly report: FitReport }) {
  const parts = [
    { name: "weights", value: report.weights_bytes, text: format.bytes(report.weights_bytes) },
    { name: "context", value: report.kv_bytes, text: format.bytes(report.kv_bytes) },
    { name: "passes", value: report.transient_bytes, text: format.bytes(report.transient_bytes) },
  ];
  const full = report.total_bytes / report.usable_bytes;
  return (
    <Meter
      label={verdict(report)}
      parts={parts}
      total={report.usable_bytes}
      totalText={`${format.bytes(report.total_bytes)} of ${format.bytes(report.usable_bytes)}`}
      tone={report.fits ? (full > CLOSE ? "warn" : "normal") : "over"}
    />
  );
}

/** Say it in words. */
export function verdict(report: FitReport): string {
  const most = report.max_safe_context.toLocaleString("en");
  if (report.fits) return `Fits; up to ${most} tokens`;
  return report.max_safe_context > 0 ? `Only up to ${most} tokens fit` : "Does not fit";
}
