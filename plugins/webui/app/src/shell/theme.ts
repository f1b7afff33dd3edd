import { computed, signal } from "@preact/signals";

export type Choice = "system" | "light" | "dark";

const NAME = "mlxp.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => {
  systemDark.value = system.matches;
});

const stored = localStorage.getItem(NAME);

/** What was chosen. */
export const choice = signal<Choice>(stored === "light" || stored === "dark" ? stored : "system");

/** What is shown. */
export const theme = computed<"light" | "dark">(() => {
  if (choice.value !== "system") return choice.value;
  return systemDark.value ? "dark" : "light";
});

/** Choose; `theme.js` reads it before the first paint of the next visit. */
export function choose(next: Choice): void {
  choice.value = next;
  if (next === "system") {
    localStorage.removeItem(NAME);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(NAME, next);
    document.documentElement.dataset.theme = next;
  }
}
