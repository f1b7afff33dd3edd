/** What a quantization is asked for: from the fields of the address to parameters, and what it would take. */

export const USUAL = { group: "64", way: "4bit", target: "4.5", kv: "6" };

/** Offers that the wizard lists for one size of groups: affine ones, and modes that have a group of their own. */
export function listed(offers, group) {
  return offers.filter(({ mode, group_size }) => mode !== "affine" || String(group_size) === group);
}

/** The name of an offer among those of its group. */
export const wayOf = ({ mode, bits }) => (mode === "affine" ? `${bits}bit` : mode);

/** Whether modules get different widths. */
export const isMixed = (fields) => fields.mixed === "yes";

/** Return a job's parameters. */
export function parametersOf(fields) {
  const { model, group = USUAL.group, way = USUAL.way } = fields;
  const affine = /^(\d)bit$/.exec(way);
  const widths = isMixed(fields)
    ? { target_bpw: Number(fields.target ?? USUAL.target), group_size: Number(group) }
    : affine
      ? { bits: Number(affine[1]), group_size: Number(group) }
      : { mode: way };
  const numbers = ["rows", "row_tokens"].filter((name) => fields[name]);
  return {
    model,
    ...widths,
    ...(fields.kv === undefined ? {} : { kv_target: Number(fields.kv) }),
    ...(fields.output ? { output: fields.output } : {}),
    ...(fields.replace === "yes" ? { replace: true } : {}),
    ...(fields.reference ? { reference: fields.reference } : {}),
    ...(fields.report === "no" ? { report: false } : {}),
    ...Object.fromEntries(numbers.map((name) => [name, Number(fields[name])])),
  };
}

/** Return about how many bytes a mixed quantization has, and whether that fits; `null` = nobody knows. */
export function mixedSize({ weights, other_bytes, offers }, bitsPerWeight) {
  const bytes = (weights * bitsPerWeight) / 8 + other_bytes;
  const larger = offers.some(({ size_bytes, fits }) => fits === true && size_bytes >= bytes);
  const smaller = offers.some(({ size_bytes, fits }) => fits === false && size_bytes <= bytes);
  return { bytes, fits: larger ? true : smaller ? false : null };
}
