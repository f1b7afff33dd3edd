export interface Part {
  readonly name: string;
  readonly value: number;
  /** As text, such as "4.2 GiB". */
  readonly text: string;
}

interface Props {
  readonly label: string;
  readonly parts: readonly Part[];
  /** What a full bar means. */
  readonly total: number;
  readonly totalText?: string;
  /** More than the bar holds, or close to it. */
  readonly tone?: "normal" | "warn" | "over";
}

/** A bar of parts with their names and numbers under it; the bar itself is drawn for the eye only. */
export function Meter({ label, parts, total, totalText, tone = "normal" }: Props) {
  const whole = Math.max(
    total,
    parts.reduce((sum, part) => sum + part.value, 0),
    Number.MIN_VALUE,
  );
  let at = 0;
  return (
    <figure class={`meter ${tone}`}>
      <figcaption>
        {label}
        {totalText && <span class="hint"> {totalText}</span>}
      </figcaption>
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="1000" height="10" />
        {parts.map((part, place) => {
          const width = (part.value / whole) * 1000;
          const x = at;
          at += width;
          return <rect key={part.name} class={`part p${place % 6}`} x={x} width={width} height="10" />;
        })}
      </svg>
      <ul>
        {parts.map((part, place) => (
          <li key={part.name}>
            <i class={`swatch p${place % 6}`} />
            {part.name} <b>{part.text}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}
