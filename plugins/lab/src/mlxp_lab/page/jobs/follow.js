/** Follows a job: its record, its log and what it measured, as signals, until it has ended. */

const AGAIN_MS = 1500;
const MOST_LINES = 500;
const ENDED = ["done", "failed", "cancelled"];

export const hasEnded = (job) => ENDED.includes(job.state);

/** Returns signals, and `stop`. Where the connection breaks, it goes on behind the last event. */
export function follow({ app, signals }, id) {
  const job = signals.signal(null);
  const log = signals.signal([]);
  const steps = signals.signal(new Map());
  const fault = signals.signal("");
  const left = new AbortController();
  const path = `/api/jobs/${encodeURIComponent(id)}`;
  let place = "";

  /** Milliseconds since 1970: what happened earlier is in the record that was read at first. */
  let known = 0;

  const change = (changes) => {
    if (job.peek()) job.value = { ...job.peek(), ...changes };
  };
  const takers = {
    state: ({ state, paused, error, attempt }) => change({ state, paused, error, attempt }),
    progress: ({ fraction, stage, message, left_s }) =>
      change({ progress: fraction, stage, message, left_s }),
    result: ({ output, summary }) => change({ output, result: summary }),
    log: ({ line }) => {
      log.value = [...log.peek().slice(1 - MOST_LINES), line];
    },
    metrics: ({ step, values }) => {
      steps.value = new Map(steps.peek()).set(step, { ...steps.peek().get(step), ...values });
    },
  };

  async function read() {
    const headers = place ? { "last-event-id": place } : {};
    for await (const event of app.api.events(`${path}/stream`, { headers, signal: left.signal })) {
      if (event.event === "end") return true;
      if (event.id) place = event.id;
      if (!event.comment) take(JSON.parse(event.data));
    }
    return false;
  }

  function take(told) {
    const isNew = told.type === "log" || told.type === "metrics" || told.at >= known;
    if (isNew) takers[told.type]?.(told);
  }

  async function begin() {
    const read = await app.api.json(path, { signal: left.signal });
    known = hasEnded(read) ? Number.POSITIVE_INFINITY : Math.max(read.started_at ?? 0, read.seen_at ?? 0);
    job.value = read;
  }

  async function run() {
    while (!left.signal.aborted) {
      try {
        if (!job.peek()) await begin();
        fault.value = "";
        if (await read()) {
          job.value = await app.api.json(path, { signal: left.signal });
          if (hasEnded(job.peek())) return;
        }
      } catch (error) {
        if (left.signal.aborted) return;
        fault.value = error.message;
        if (error.status === 404) return;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  void run();
  return { job, log, steps, fault, stop: () => left.abort() };
}
