/** A dataset's card in a few words. */

/** "200 + 20 + 10": to learn from, to look at meanwhile, to test with. */
export function counts({ splits }) {
  return ["train", "valid", "test"]
    .filter((name) => name in splits)
    .map((name) => splits[name])
    .join(" + ");
}

export function origin({ origin: told }) {
  return (
    [told.template, told.source].filter(Boolean).join(", ") || (told.kind === "unknown" ? "" : told.kind)
  );
}
