/** Fields of a form from the JSON schema of a kind's parameters, and parameters from what was typed into them. */

/**
 * @returns {{name: string, kind: string, required: boolean, usual: any, hint?: string, options?: string[],
 *   min?: number, max?: number}[]}
 */
export function fieldsOf(schema) {
  const whole = resolved(schema, schema);
  const required = new Set(whole.required ?? []);
  const hints = hintsOf(whole.description ?? "");
  return Object.entries(whole.properties ?? {}).map(([name, told]) => ({
    name,
    required: required.has(name),
    usual: told.default ?? null,
    hint: hints.get(name),
    ...shapeOf(resolved(told, schema), schema),
  }));
}

/** What a docstring says under "Attributes:", by name. */
export function hintsOf(description) {
  const [, told = ""] = description.split(/^Attributes:$/m);
  const hints = new Map();
  let names = [];
  for (const line of told.split("\n")) {
    const begun = /^ {4}(\w+(?:, \w+)*): (.*)$/.exec(line);
    if (begun) {
      names = begun[1].split(", ");
      for (const name of names) hints.set(name, begun[2]);
    } else if (/^ {8}\S/.test(line)) {
      for (const name of names) hints.set(name, `${hints.get(name)} ${line.trim()}`);
    } else if (line.trim()) break;
  }
  return new Map([...hints].map(([name, hint]) => [name, hint.replaceAll("``", "")]));
}

/** Return the parameters that texts by field name mean; what is empty is left to the server. Throws an `Error`. */
export function parametersOf(fields, texts) {
  const given = fields.filter(({ name }) => (texts[name] ?? "") !== "");
  return Object.fromEntries(given.map((field) => [field.name, meant(field, texts[field.name])]));
}

function meant({ name, kind, parse }, text) {
  if (kind === "check") return text === "true";
  if (kind === "number") return Number(text);
  if (kind === "text") return text;
  if (kind === "choice") return parse(text);
  if (kind === "list")
    return text
      .split("\n")
      .map((each) => each.trim())
      .filter(Boolean);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

function shapeOf(told, schema) {
  const options = (told.anyOf ?? [told])
    .map((each) => resolved(each, schema))
    .filter(({ type }) => type !== "null");
  if (options.length !== 1) return { kind: "json" };
  const [one] = options;
  if (one.enum) {
    const known = one.enum.filter((each) => each !== null);
    return {
      kind: "choice",
      options: known.map(String),
      parse: (text) => known.find((each) => String(each) === text),
    };
  }
  if (one.type === "boolean") return { kind: "check" };
  if (one.type === "array" && one.items?.type === "string") return { kind: "list" };
  if (one.type === "string") return { kind: "text" };
  if (one.type === "number" || one.type === "integer") {
    const step = one.type === "integer" ? 1 : "any";
    return { kind: "number", step, min: one.minimum, max: one.maximum };
  }
  return { kind: "json" };
}

function resolved(told, schema) {
  const name = told.$ref?.replace("#/$defs/", "");
  return name === undefined ? told : { ...schema.$defs[name], ...told, $ref: undefined };
}
