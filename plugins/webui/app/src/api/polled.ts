import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { json } from "./client";
import { Problem } from "./problem";

/** What was answered last, what went wrong since, and a way to ask at once. */
export interface Polled<T> {
  readonly value: T | undefined;
  readonly problem: Problem | undefined;
  readonly again: () => void;
}

/** Ask for `path` now and every `everyS` seconds, as long as the page is looked at; `null` asks for nothing. */
export function usePolled<T>(path: string | null, everyS: number): Polled<T> {
  const [value, setValue] = useState<T>();
  const [problem, setProblem] = useState<Problem>();
  const asks = useRef<() => void>(() => {});

  useEffect(() => {
    if (path === null) return;
    const left = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;

    const ask = async () => {
      if (asking || document.hidden) return;
      asking = true;
      clearTimeout(timer);
      try {
        const told = await json<T>(path, { signal: left.signal });
        setValue(told);
        setProblem(undefined);
      } catch (error) {
        if (!left.signal.aborted) setProblem(asProblem(error));
      }
      asking = false;
      if (!left.signal.aborted) timer = setTimeout(ask, everyS * 1000);
    };

    asks.current = ask;
    document.addEventListener("visibilitychange", ask);
    void ask();
    return () => {
      left.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, [path, everyS]);

  return { value, problem, again: useCallback(() => asks.current(), []) };
}

function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(String(error), 0);
}
