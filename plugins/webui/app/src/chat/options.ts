import { type Options, PLAIN } from "./model";

const NAME = "mlxp.options";

/** What new conversations begin with: the options chosen last, but for what belongs to one conversation alone. */
export function lastOptions(): Options {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? "{}");
    return { ...PLAIN, ...(kept as Partial<Options>) };
  } catch {
    return PLAIN;
  }
}

export function keepOptions(options: Options): void {
  const { system: _, schema: __, fields: ___, seed: ____, ...kept } = options;
  localStorage.setItem(NAME, JSON.stringify(kept));
}
