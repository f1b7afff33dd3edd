/** What the lab's sections share: the app's parts, addresses, and a few parts of the lab's own. */

import { partsOf } from "./parts.js";
import { pushOf } from "./push/link.js";

const POLL_S = 2;

/** @param {any} app what every page of the web app is given */
export function kitOf(app) {
  const { hooks } = app.ui;
  const kinds = once(async () => (await app.api.json("/api/jobs/kinds")).kinds);

  /** Change fields of the address; empty ones leave it. */
  function keep(changes) {
    const query = Object.fromEntries(
      Object.entries({ ...app.query.peek(), ...changes })
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => [name, String(value)]),
    );
    app.navigate(["lab", ...app.rest.peek()], { replace: true, query });
  }

  /** Ask for a path now, and again every few seconds as long as the page is looked at. */
  function usePolled(path, everyS = POLL_S) {
    const [told, setTold] = hooks.useState({ value: undefined, problem: undefined });
    const ask = hooks.useRef(() => {});
    hooks.useEffect(() => {
      let gone = false;
      let timer;
      ask.current = async () => {
        clearTimeout(timer);
        if (!document.hidden) {
          try {
            const value = await app.api.json(path);
            if (!gone) setTold({ value, problem: undefined });
          } catch (problem) {
            if (!gone) setTold((before) => ({ ...before, problem }));
          }
        }
        clearTimeout(timer);
        if (!gone && everyS) timer = setTimeout(ask.current, everyS * 1000);
      };
      void ask.current();
      return () => {
        gone = true;
        clearTimeout(timer);
      };
    }, [path]);
    return { ...told, again: () => ask.current() };
  }

  /** The kinds of jobs; none until they are known. */
  function useKinds() {
    const [known, setKnown] = hooks.useState([]);
    hooks.useEffect(() => {
      void attempt(async () => setKnown(await kinds()));
    }, []);
    return known;
  }

  /** Do something, and say what goes wrong; returns its value, or `undefined`. */
  async function attempt(work) {
    try {
      return await work();
    } catch (error) {
      app.notify(error.message, "error");
      return undefined;
    }
  }

  return {
    app,
    ...app.ui,
    ...partsOf(app.ui),
    Push: pushOf({ ...app.ui, useKinds, address }),
    address,
    keep,
    useKinds,
    usePolled,
    attempt,
    go: (...parts) => app.navigate(["lab", ...parts]),
  };
}

/** The address of a place in the lab. */
export function address(...parts) {
  return `#/lab/${parts.map(encodeURIComponent).join("/")}`;
}

/** Which parameter a refusal is about. */
export function paramOf(problem) {
  return problem?.body?.error?.param ?? "";
}

function once(ask) {
  let asked = null;
  return () => {
    asked ??= ask().catch((error) => {
      asked = null;
      throw error;
    });
    return asked;
  };
}
