import { signal } from "@preact/signals";
import { Icon } from "../parts/icon";

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly kind: "info" | "error";
}

const SHOWN_MS = 6000;
const notices = signal<readonly Notice[]>([]);
let last = 0;

/** Say something in passing. An error stays until it is put away. */
export function notify(text: string, kind: Notice["kind"] = "info"): void {
  last += 1;
  const id = last;
  notices.value = [...notices.value, { id, text, kind }];
  if (kind === "info") setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div key={notice.id} class={`notice ${notice.kind}`}>
          <span>{notice.text}</span>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
