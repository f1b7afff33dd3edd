import type { Stats } from "../../api/answers";

/** The server at one moment; speeds are since the moment before, unknown at first and after a restart. */
export interface Moment {
  /** Seconds since 1970. */
  readonly at: number;
  readonly drawnPerS: number | null;
  readonly readPerS: number | null;
  readonly running: number;
  readonly prefilling: number;
  readonly waiting: number;
  readonly activeBytes: number;
}

interface Seen {
  readonly at: number;
  readonly startedAt: number;
  readonly drawn: number;
  readonly read: number;
}

export interface History {
  readonly moments: readonly Moment[];
  readonly seen: Seen | null;
}

export const NOTHING: History = { moments: [], seen: null };

/** As many as are kept: ten minutes, a second apart. */
export const KEPT = 600;

/** A pause longer than this is a gap: nobody looked. */
const GAP_S = 10;

/** Return the history with one more moment; the oldest ones are forgotten. */
export function later(history: History, stats: Stats, at: number): History {
  const seen: Seen = {
    at,
    startedAt: stats.server.started_at,
    drawn: stats.totals.drawn_tokens,
    read: stats.totals.read_tokens,
  };
  const before = history.seen;
  const goesOn = before !== null && isNext(before, seen);
  const passed = goesOn ? at - before.at : 0;
  const moment: Moment = {
    at,
    drawnPerS: goesOn ? (seen.drawn - before.drawn) / passed : null,
    readPerS: goesOn ? (seen.read - before.read) / passed : null,
    running: stats.queue.running,
    prefilling: stats.queue.prefilling,
    waiting: stats.queue.waiting,
    activeBytes: stats.admission.active_bytes,
  };
  return { moments: [...history.moments, moment].slice(-KEPT), seen };
}

function isNext(before: Seen, now: Seen): boolean {
  const passed = now.at - before.at;
  const same = now.startedAt === before.startedAt && now.drawn >= before.drawn && now.read >= before.read;
  return same && passed > 0 && passed <= GAP_S;
}
