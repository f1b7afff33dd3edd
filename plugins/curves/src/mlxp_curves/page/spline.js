/**
 * The curve that the sampler draws by, as `curve.py` has it, number for number: a monotone cubic through
 * `ln(pct / 100)`, after Fritsch, Carlson and Butland.
 *
 * @typedef {{x_pct: number, y_pct: number}} Point
 * @typedef {readonly [u: number, v: number]} Knot  natural logarithms of probabilities
 */

const LOWEST_PCT = 1e-9;

/** @param {number} pct */
export const nats = (pct) => Math.log(Math.max(pct, LOWEST_PCT) / 100);

/** @param {number} u */
export const percent = (u) => 100 * Math.exp(u);

/** @param {readonly Point[]} points @returns {Knot[]} from left to right */
export function knots(points) {
  return points.map(({ x_pct, y_pct }) => [nats(x_pct), nats(y_pct)]).sort((a, b) => a[0] - b[0]);
}

/** @param {readonly Knot[]} through @returns {number[]} slopes between neighbours */
export function secants(through) {
  return through.slice(1).map(([u, v], i) => (v - through[i][1]) / (u - through[i][0]));
}

/** @param {readonly Knot[]} through @returns {number[]} the slope at each point */
export function tangents(through) {
  const slopes = secants(through);
  const widths = through.slice(1).map(([u], i) => u - through[i][0]);
  const inner = slopes.slice(1).map((after, i) => mean(slopes[i], after, widths[i], widths[i + 1]));
  return [slopes[0], ...inner, slopes[slopes.length - 1]];
}

/** @param {readonly Point[]} points @returns {(u: number) => number} what a log-probability becomes */
export function spline(points) {
  const through = knots(points);
  const tilts = tangents(through);
  const last = through.length - 1;
  return (u) => {
    const at = through.filter(([start]) => start <= u).length - 1;
    if (at < 0) return through[0][1] + Math.max(tilts[0], 1) * (u - through[0][0]);
    if (at === last) return through[last][1] + tilts[last] * (u - through[last][0]);
    return cubic(through[at], through[at + 1], tilts[at], tilts[at + 1], u);
  };
}

function cubic([left, low], [right, high], tilt, nextTilt, u) {
  const width = right - left;
  const secant = (high - low) / width;
  const square = (3 * secant - 2 * tilt - nextTilt) / width;
  const cube = (tilt + nextTilt - 2 * secant) / width ** 2;
  const t = u - left;
  return low + t * (tilt + t * (square + t * cube));
}

function mean(before, after, widthBefore, widthAfter) {
  if (before * after <= 0) return 0;
  const heavy = 2 * widthAfter + widthBefore;
  const light = widthAfter + 2 * widthBefore;
  return (heavy + light) / (heavy / before + light / after);
}
