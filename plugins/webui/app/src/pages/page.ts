import type { ReadonlySignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { h, render } from "preact";
import type { App } from "../shell/app";

/** What a page's module exports as its default: fills `element`, and returns how to leave it. */
export type Mount = (element: HTMLElement, app: App) => (() => void) | undefined;

/** What a component that is a page gets. */
export interface PageProps {
  readonly app: App;
  readonly rest: ReadonlySignal<readonly string[]>;
}

/** Make a page of a component. */
export function pageOf(Component: ComponentType<PageProps>): Mount {
  return (element, app) => {
    render(h(Component, { app, rest: app.rest }), element);
    return () => render(null, element);
  };
}
