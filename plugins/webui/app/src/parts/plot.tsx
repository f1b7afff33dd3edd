import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { theme } from "../shell/theme";

export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** Fill down to zero. */
  readonly filled?: boolean;
  /** Draw on across what is missing. */
  readonly joined?: boolean;
}

interface Props {
  readonly label: string;
  /** Seconds since 1970 with `time`, else any growing numbers. */
  readonly xs: readonly number[];
  readonly series: readonly Series[];
  readonly time?: boolean;
  readonly height?: number;
  readonly unit?: (value: number) => string;
}

const NARROWEST = 120;

/** Lines over time or over a number, drawn by uPlot, which is fetched when the first one is shown. */
export function Plot({ label, xs, series, time = false, height = 160, unit = String }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const data = [xs, ...series.map((each) => each.values)] as unknown as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const names = series.map((each) => each.name).join("\n");
  const shade = theme.value;

  // Made anew where its looks change, else fed below.
  useEffect(() => {
    let left = false;
    const element = holder.current;
    if (!element) return;
    const resized = new ResizeObserver(() => {
      chart.current?.setSize({ width: Math.max(NARROWEST, element.clientWidth), height });
    });
    void load().then((made) => {
      if (left) return;
      const options = looks(element, { series, time, height, unit });
      chart.current = new made(options, latest.current, element);
      resized.observe(element);
    });
    return () => {
      left = true;
      resized.disconnect();
      chart.current?.destroy();
      chart.current = null;
    };
  }, [names, time, height, shade]);

  useEffect(() => {
    chart.current?.setData(data);
  });

  return <div ref={holder} class="plot" role="img" aria-label={summary(label, series, unit)} />;
}

async function load(): Promise<typeof uPlot> {
  const [loaded] = await Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]);
  return loaded.default;
}

function looks(
  element: HTMLElement,
  { series, time, height, unit }: Omit<Required<Props>, "label" | "xs">,
): uPlot.Options {
  const colour = (name: string) => resolved(element, name);
  const axis = {
    stroke: colour("--soft"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(NARROWEST, element.clientWidth),
    height,
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { time },
      y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, 1e-9)] },
    },
    axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => unit(tick)) }],
    series: [
      {},
      ...series.map((each, place) => ({
        label: each.name,
        stroke: colour(`--part${place % 6}`),
        width: 2,
        spanGaps: each.joined ?? false,
        value: (_: uPlot, value: number | null) => (value === null ? "–" : unit(value)),
        ...(each.filled
          ? { fill: colour(`--part${place % 6}`).replace(/^rgb\((.+)\)$/, "rgba($1, 0.15)") }
          : {}),
        points: { show: false },
      })),
    ],
  };
}

/** Return the colour that a variable of the style sheet stands for now; a canvas knows no variables. */
function resolved(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const colour = getComputedStyle(element).color;
  element.style.color = "";
  return colour;
}

/** Say in words what the eye sees at the right end. */
function summary(label: string, series: readonly Series[], unit: (value: number) => string): string {
  const ends = series.map((each) => {
    const last = each.values.findLast((value) => value !== null);
    return `${each.name} ${last === undefined || last === null ? "unknown" : unit(last)}`;
  });
  return `${label}: ${ends.join(", ")}`;
}
