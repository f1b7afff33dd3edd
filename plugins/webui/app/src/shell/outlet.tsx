import { useEffect, useRef, useState } from "preact/hooks";
import { complete, pages } from "../pages/list";
import { app } from "./app";
import { place } from "./router";

/** The page of the address: its code is fetched, and it fills an element of its own until another page is asked for. */
export function Outlet() {
  const holder = useRef<HTMLDivElement>(null);
  const [fault, setFault] = useState("");
  const wanted = place.value.page;
  const page = pages.value.find((each) => each.id === wanted);

  useEffect(() => {
    const parent = holder.current;
    if (!parent || !page) return;
    const element = document.createElement("div");
    element.className = "page";
    parent.append(element);
    let leave: (() => void) | undefined;
    let gone = false;
    setFault("");
    document.title = `${page.title} · mlxp`;
    page
      .load()
      .then((module) => {
        if (!gone) leave = module.default(element, app);
      })
      .catch((error: Error) => setFault(error.message));
    return () => {
      gone = true;
      leave?.();
      element.remove();
    };
  }, [page]);

  return (
    <main id="main" tabIndex={-1}>
      <div ref={holder} class="outlet" />
      {fault && <p class="fault">This page could not be shown: {fault}</p>}
      {!page && complete.value && (
        <p class="fault">
          There is no page “{wanted}”. It may belong to a plugin that is off.{" "}
          <a href="#/chat">Go to the chat</a>
        </p>
      )}
    </main>
  );
}
