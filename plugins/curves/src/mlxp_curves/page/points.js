/** The five points of the designer: where they may go, and what the curve through them does. */

import { knots, nats, percent, secants } from "./spline.js";

export const LEFT_PCT = 1e-4;
export const RIGHT_PCT = 100;
export const LOWEST = Math.log(1e-6);

const START = [LEFT_PCT, 0.1, 1, 9, RIGHT_PCT];
const APART = 1.03;
const NEAR_NATS = 0.03;
const FLATTER = 0.97;
const STEEPER = 1.03;
const DIGITS = 6; // significant ones: points near the left edge lie close to each other

export const DIAGONAL = START.map((pct) => ({ x_pct: pct, y_pct: pct }));

/** The line that a temperature draws by: probabilities to the power of its inverse. */
export function ofTemperature(temperature) {
  return START.map((pct) => ({ x_pct: pct, y_pct: bounded(percent(nats(pct) / temperature)) }));
}

/**
 * Move a point as far towards `(x, y)` as the others let it, so that the curve still rises.
 * The first stays at the left edge, the last at the right one.
 */
export function moved(points, index, x, y) {
  const before = points[index - 1];
  const after = points[index + 1];
  const next = {
    x_pct:
      before && after
        ? between(x, before.x_pct * APART, after.x_pct / APART)
        : points[index].x_pct,
    y_pct: between(
      y,
      before ? before.y_pct * APART : LEFT_PCT,
      after ? after.y_pct / APART : RIGHT_PCT,
    ),
  };
  return points.map((point, at) => (at === index ? next : point));
}

/** Whether the curve is temperature 1, to the eye. */
export function isDiagonal(points) {
  return points.every(({ x_pct, y_pct }) => Math.abs(nats(x_pct) - nats(y_pct)) < NEAR_NATS);
}

const PARTS = ["shadows", "lower middle", "upper middle", "head"];

/** What each part of the curve does, from the likeliest tokens down. */
export function readouts(points) {
  return secants(knots(points))
    .map((slope, at) => ({ part: PARTS[at], slope, does: word(slope) }))
    .reverse();
}

/** The curve as requests carry it. */
export function values(points) {
  const rounded = points.map(({ x_pct, y_pct }) => ({
    x_pct: Number(x_pct.toPrecision(DIGITS)),
    y_pct: Number(y_pct.toPrecision(DIGITS)),
  }));
  return { space: "logprob", points: rounded, monotonic: true };
}

function word(slope) {
  if (slope < FLATTER) return "flatten";
  return slope > STEEPER ? "sharpen" : "as it was";
}

const between = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));
const bounded = (pct) => between(pct, LEFT_PCT, RIGHT_PCT);
