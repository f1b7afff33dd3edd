/** What the designer knows, as signals; results are put away when what they came from changes. */

import { DIAGONAL, isDiagonal, values } from "./points.js";
import { drawBoth, drawPair } from "./samples.js";

const NAME = "mlxp.curves";
const LIKELIEST = 12;
const PROMPT = "Write the first sentence of a short story.";

export function stateOf({ api, notify, ui: { signals } }) {
  const { signal, computed, effect } = signals;
  const kept = remembered();
  const points = signal(kept.points ?? DIAGONAL);
  const prompt = signal(kept.prompt ?? PROMPT);
  const model = signal("");
  const models = signal([]);
  const count = signal(4);
  const seed = signal(100);
  const busy = signal("");
  const told = signal(null);
  const both = signal(null);
  const pair = signal(null);
  const guess = signal(null);
  const score = signal({ right: 0, asked: 0 });
  const straight = computed(() => isDiagonal(points.value));

  const asked = () => ({
    prompt: prompt.value,
    model: model.value || undefined,
    thinking: false,
    n: count.value ?? undefined,
    seed: seed.value ?? undefined,
  });

  function clear() {
    both.value = pair.value = guess.value = null;
  }

  async function during(what, work) {
    busy.value = what;
    try {
      await work();
    } catch (error) {
      notify(error.message, "error");
    }
    busy.value = "";
  }

  return {
    points, prompt, model, models, count, seed, busy, told, both, pair, guess, score, straight,

    bend(next) {
      points.value = next;
      clear();
    },
    say(text) {
      prompt.value = text;
      clear();
    },
    choose(id) {
      model.value = id;
      clear();
      void this.look();
    },
    look: () =>
      during("signal", async () => {
        const { prompt: text, model: id, thinking } = asked();
        const body = { prompt: text, model: id, thinking, likeliest: LIKELIEST };
        told.value = await api.json("/v1/curves/signal", { body });
      }),
    find: () =>
      during("models", async () => {
        models.value = (await api.json("/v1/models")).data.map((each) => each.id);
      }),
    generate: () =>
      during("generate", async () => {
        clear();
        both.value = await drawBoth(api, asked(), straight.value ? null : values(points.value));
      }),
    test: () =>
      during("test", async () => {
        clear();
        pair.value = await drawPair(api, asked(), values(points.value));
      }),
    judge(at) {
      guess.value = at;
      const right = pair.value[at].by === "curve" ? 1 : 0;
      score.value = { right: score.value.right + right, asked: score.value.asked + 1 };
    },
    /** Keep the curve and the prompt for the next visit; returns how to stop that. */
    remember: () =>
      effect(() => {
        localStorage.setItem(NAME, JSON.stringify({ points: points.value, prompt: prompt.value }));
      }),
  };
}

function remembered() {
  try {
    const found = JSON.parse(localStorage.getItem(NAME) ?? "{}");
    return found.points?.length === DIAGONAL.length ? found : {};
  } catch {
    return {};
  }
}
