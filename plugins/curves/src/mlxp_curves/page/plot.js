/** The plot: the model's distribution behind, the curve over it, and points to drag or to move by keys. */

import { LEFT_PCT, LOWEST, moved, RIGHT_PCT } from "./points.js";
import { nats, percent, spline } from "./spline.js";

const BOX = { width: 460, height: 380, left: 52, right: 12, top: 12, bottom: 40 };
const INNER = { width: BOX.width - BOX.left - BOX.right, height: BOX.height - BOX.top - BOX.bottom };
const TICKS = [100, 10, 1, 0.1, 0.01, 0.001, 0.0001];
const STEPS = 120;
const TALLEST = 0.55;
const NUDGE = 1.05;
const STRIDE = 1.5;

const across = (u) => BOX.left + (1 - u / LOWEST) * INNER.width;
const down = (u) => BOX.top + (u / LOWEST) * INNER.height;
const shown = (pct) => `${Number(pct.toPrecision(3))} %`;

/** @param {import("./page.js").App["ui"]} ui */
export function plotOf({ html, hooks }) {
  function Plot({ points, bins, onMove }) {
    const drawing = hooks.useRef(null);
    const curve = path(spline(points));

    const drag = (index) => (event) => {
      if (event.buttons === 0 || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
      const place = inside(drawing.current, event);
      onMove(moved(points, index, percent(place.x), percent(place.y)));
    };
    const press = (index) => (event) => {
      const step = event.shiftKey ? STRIDE : NUDGE;
      const [x, y] = KEYS[event.key] ?? [0, 0];
      if (!x && !y) return;
      event.preventDefault();
      const { x_pct, y_pct } = points[index];
      onMove(moved(points, index, x_pct * step ** x, y_pct * step ** y));
    };

    return html`
      <svg ref=${drawing} class="curve-plot" viewBox="0 0 ${BOX.width} ${BOX.height}" role="group"
        aria-label="Probability that a token gets, by the one that the model gives it">
        <${Axes} />
        <${Histogram} bins=${bins} />
        <line class="diagonal" x1=${across(LOWEST)} y1=${down(LOWEST)} x2=${across(0)} y2=${down(0)} />
        <path class="curve" d=${curve} />
        ${points.map(
          ({ x_pct, y_pct }, index) => html`
            <g key=${index} class="point" transform=${`translate(${across(nats(x_pct))} ${down(nats(y_pct))})`}
              tabindex="0" role="slider" aria-orientation="vertical"
              aria-label=${`Point ${index + 1} of ${points.length}`}
              aria-valuemin=${LEFT_PCT} aria-valuemax=${RIGHT_PCT} aria-valuenow=${y_pct}
              aria-valuetext=${`${shown(x_pct)} becomes ${shown(y_pct)}`}
              onPointerDown=${(event) => event.currentTarget.setPointerCapture(event.pointerId)}
              onPointerMove=${drag(index)} onKeyDown=${press(index)}>
              <title>${shown(x_pct)} becomes ${shown(y_pct)}</title>
              <circle class="reach" r="18" />
              <circle class="dot" r="7" />
            </g>`,
        )}
      </svg>`;
  }

  function Axes() {
    return html`
      <g class="axes" aria-hidden="true">
        ${TICKS.map(
          (pct) => html`
            <g key=${pct}>
              <line x1=${across(nats(pct))} x2=${across(nats(pct))} y1=${BOX.top} y2=${down(LOWEST)} />
              <line y1=${down(nats(pct))} y2=${down(nats(pct))} x1=${BOX.left} x2=${across(0)} />
              <text x=${across(nats(pct))} y=${BOX.height - 24} text-anchor="middle">${pct}</text>
              <text x=${BOX.left - 6} y=${down(nats(pct)) + (pct === LEFT_PCT ? -4 : 4)} text-anchor="end">${pct}</text>
            </g>`,
        )}
        <text x=${BOX.left + INNER.width / 2} y=${BOX.height - 6} text-anchor="middle">the model's, in %</text>
        <text class="up" x=${-(BOX.top + INNER.height / 2)} y="12" text-anchor="middle">drawn by, in %</text>
      </g>`;
  }

  function Histogram({ bins }) {
    const most = Math.log1p(Math.max(...bins, 0));
    const width = INNER.width / Math.max(bins.length, 1);
    return html`
      <g class="histogram" aria-hidden="true">
        ${bins.map((count, at) => {
          const height = most ? (Math.log1p(count) / most) * TALLEST * INNER.height : 0;
          return html`<rect key=${at} x=${BOX.left + at * width} y=${down(LOWEST) - height}
            width=${width * 0.9} height=${height} />`;
        })}
      </g>`;
  }

  return Plot;
}

const KEYS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowRight: [1, 0], ArrowLeft: [-1, 0] };

function path(at) {
  const places = Array.from({ length: STEPS + 1 }, (_, step) => LOWEST * (1 - step / STEPS));
  const clipped = (u) => Math.min(0, Math.max(LOWEST, at(u)));
  return places
    .map((u, step) => `${step ? "L" : "M"}${across(u).toFixed(1)} ${down(clipped(u)).toFixed(1)}`)
    .join("");
}

/** Where a pointer is, in nats. */
function inside(svg, event) {
  const box = svg.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * BOX.width;
  const y = ((event.clientY - box.top) / box.height) * BOX.height;
  return { x: LOWEST * (1 - (x - BOX.left) / INNER.width), y: LOWEST * ((y - BOX.top) / INNER.height) };
}
