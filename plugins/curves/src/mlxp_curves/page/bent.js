/** What a curve makes of a distribution of which only bins and the likeliest tokens are known. */

import { LOWEST } from "./points.js";
import { spline } from "./spline.js";

/**
 * The likeliest tokens with their probabilities before and after, both normalised. Tokens without a name count as the
 * middle of their bin.
 */
export function bent(signal, points) {
  const at = spline(points);
  const bins = unnamed(signal);
  const tail = bins.reduce((sum, count, bin) => sum + count * Math.exp(at(middle(bin, bins.length))), 0);
  const named = signal.likeliest.map((each) => Math.exp(at(each.logprob)));
  const all = named.reduce((sum, each) => sum + each, tail);
  return signal.likeliest.map((each, place) => ({
    text: each.text,
    token: each.token,
    before: Math.exp(each.logprob),
    after: named[place] / all,
  }));
}

/** The bins without the tokens that have names. */
function unnamed({ bins, likeliest }) {
  const left = [...bins];
  for (const { logprob } of likeliest) left[binOf(logprob, bins.length)] -= 1;
  return left.map((count) => Math.max(0, count));
}

const binOf = (logprob, bins) =>
  Math.min(bins - 1, Math.floor(bins * Math.min(1, Math.max(0, 1 - logprob / LOWEST))));

const middle = (bin, bins) => LOWEST * (1 - (bin + 0.5) / bins);
