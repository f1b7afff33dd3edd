import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

interface Props {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** What it does, where there is no text on it. */
  readonly label?: string;
  readonly kind?: "normal" | "primary" | "plain" | "danger";
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  readonly expanded?: boolean;
  readonly title?: string;
  readonly onClick?: (event: MouseEvent) => void;
}

/** A button that does not submit a form. */
export function Button({
  children,
  icon,
  label,
  kind = "normal",
  disabled,
  pressed,
  expanded,
  ...rest
}: Props) {
  return (
    <button
      type="button"
      class={kind === "normal" ? undefined : kind}
      disabled={disabled}
      aria-label={label}
      title={rest.title ?? label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      onClick={rest.onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
