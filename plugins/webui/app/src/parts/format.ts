/** Numbers as people read them. Sizes: GiB = 2^30 bytes. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;
const STEP = 1024;

export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined || !Number.isFinite(count)) return "–";
  let value = count;
  let unit = 0;
  while (Math.abs(value) >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  return `${unit === 0 || Math.abs(value) >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** 131072 -> "131k"; whole numbers below a thousand as they are. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) < 10_000) return value.toLocaleString("en", { maximumFractionDigits: 1 });
  return value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(1)} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(value % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function percent(value: number): string {
  return `${Math.round(value * 100)} %`;
}

/** "just now", "5 min ago", "yesterday", or a date. */
export function ago(then: number, now: number): string {
  const passed = Math.max(0, now - then) / 1000;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  if (passed < 7 * 86_400) return `${Math.floor(passed / 86_400)} d ago`;
  return new Date(then).toLocaleDateString();
}
