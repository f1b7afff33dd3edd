import type { ComponentChildren, TargetedEvent } from "preact";
import { useId } from "preact/hooks";

interface Wrapping {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly children: (attributes: {
    id: string;
    "aria-describedby": string | undefined;
  }) => ComponentChildren;
}

/** A label, what it names, and what is to be said of it; the three belong together for a screen reader, too. */
export function Field({ label, hint, error, children }: Wrapping) {
  const id = useId();
  const said = hint || error ? `${id}-said` : undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": said })}
      {said && (
        <p id={said} class={error ? "hint error" : "hint"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

interface Named {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
}

interface TextProps extends Named {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly placeholder?: string;
  readonly secret?: boolean;
  readonly rows?: number;
  readonly mono?: boolean;
}

/** One line of text or, with `rows`, several. */
export function TextField({
  value,
  onInput,
  placeholder,
  secret,
  rows,
  mono,
  disabled,
  ...named
}: TextProps) {
  const kept = { value, placeholder, disabled, rows, spellcheck: false, autocomplete: "off" } as const;
  const read = (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    onInput(event.currentTarget.value);
  const drawn = mono ? "mono" : undefined;
  return (
    <Field {...named}>
      {(attributes) => {
        if (rows) return <textarea {...attributes} {...kept} class={drawn} onInput={read} />;
        if (secret) return <input {...attributes} {...kept} class={drawn} type="password" onInput={read} />;
        return <input {...attributes} {...kept} class={drawn} type="text" onInput={read} />;
      }}
    </Field>
  );
}

interface NumberProps extends Named {
  readonly value: number | null;
  readonly onInput: (value: number | null) => void;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | "any";
  /** Shown while nothing is set: what will be used. */
  readonly placeholder?: string;
}

/** A number; `null` while nothing is set. */
export function NumberField({
  value,
  onInput,
  min,
  max,
  step = "any",
  placeholder,
  disabled,
  ...named
}: NumberProps) {
  const read = (event: TargetedEvent<HTMLInputElement>) => {
    const { value: text, valueAsNumber } = event.currentTarget;
    onInput(text === "" || Number.isNaN(valueAsNumber) ? null : valueAsNumber);
  };
  return (
    <Field {...named}>
      {(attributes) => (
        <input
          {...attributes}
          type="number"
          value={value ?? ""}
          {...{ min, max, step, placeholder, disabled }}
          onInput={read}
        />
      )}
    </Field>
  );
}

interface SelectProps extends Named {
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}

/** One of a few. */
export function Select({ value, options, onChange, disabled, ...named }: SelectProps) {
  return (
    <Field {...named}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          disabled={disabled}
          onChange={(e) => onChange(e.currentTarget.value)}
        >
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** Yes or no. */
export function Check({ label, checked, disabled, onChange }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
