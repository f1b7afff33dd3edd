import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./button";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}

/** A window over the page: focus stays in it, Escape and a click beside it close it. */
export function Dialog({ title, onClose, children, wide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    element.current?.showModal();
  }, []);
  const closeBeside = (event: MouseEvent) => {
    if (event.target === element.current) onClose();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, which the element does by itself
    <dialog
      ref={element}
      class={wide ? "wide" : undefined}
      aria-labelledby={id}
      onClick={closeBeside}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <Button kind="plain" icon="close" label="Close" onClick={onClose} />
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
