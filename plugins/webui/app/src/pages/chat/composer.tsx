import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { cardOf } from "../../chat/cards";
import { drafts } from "../../chat/draft";
import type { Chat } from "../../chat/library";
import type { ImagePart } from "../../chat/model";
import { MOST_BYTES, pictureOf, TYPES } from "../../chat/pictures";
import { say } from "../../chat/running";
import { Button } from "../../parts/button";
import { bytes } from "../../parts/format";
import { Icon } from "../../parts/icon";
import { notify } from "../../shell/notices";

const TALLEST_PX = 240;

/** Where a message is written: text, and pictures by paste, by drop or from a file. */
export function Composer({ chat }: { chat: Chat }) {
  const pictures = useSignal<readonly ImagePart[]>([]);
  const over = useSignal(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const text = drafts.value[chat.id] ?? "";
  const sees = cardOf(chat.state.value.options.model)?.vision ?? false;
  const running = chat.running.value;
  const write = (value: string) => {
    drafts.value = { ...drafts.peek(), [chat.id]: value };
  };

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(TALLEST_PX, element.scrollHeight)}px`;
  }, [text]);
  useEffect(() => area.current?.focus(), []);

  const attach = async (files: Iterable<File>) => {
    for (const file of files) {
      if (!sees) {
        notify("This model does not see pictures; choose one that does.", "error");
        return;
      }
      try {
        const picture = await pictureOf(file);
        pictures.value = [...pictures.value, picture];
      } catch (error) {
        notify((error as Error).message, "error");
      }
    }
  };
  const send = (event?: Event) => {
    event?.preventDefault();
    if (running || !(text.trim() || pictures.value.length)) return;
    const parts = [...pictures.value, ...(text.trim() ? [{ kind: "text", text } as const] : [])];
    pictures.value = [];
    write("");
    void say(chat, parts, chat.state.peek().leaf);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
    else if (event.key === "ArrowUp" && !text) editLast(event);
  };

  return (
    <form
      class={`composer ${over.value ? "over" : ""}`}
      aria-label="New message"
      onSubmit={send}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => {
        over.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        void attach([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <Pictures
        pictures={pictures.value}
        drop={(picture) => {
          pictures.value = pictures.value.filter((one) => one !== picture);
        }}
      />
      <label class="unseen" for="message">
        Message
      </label>
      <textarea
        id="message"
        ref={area}
        rows={1}
        placeholder="Write a message"
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={press}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length) {
            event.preventDefault();
            void attach(files);
          }
        }}
      />
      <div class="row composer-tools">
        <Attach sees={sees} attach={attach} />
        <span class="grow" />
        {running ? (
          <Button icon="stop" onClick={running.stop}>
            Stop
          </Button>
        ) : (
          <button type="submit" class="primary" disabled={!(text.trim() || pictures.value.length)}>
            <Icon name="send" /> Send
          </button>
        )}
      </div>
    </form>
  );
}

/** Open the editor of the message that was said last. */
function editLast(event: Event): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>(".turn.user [aria-label='Edit message']");
  const last = buttons[buttons.length - 1];
  if (!last) return;
  event.preventDefault();
  last.click();
}

function Attach({ sees, attach }: { sees: boolean; attach: (files: Iterable<File>) => Promise<void> }) {
  const hint = sees ? `Pictures, up to ${bytes(MOST_BYTES)} each` : "This model does not see pictures";
  return (
    <label class={`button-like plain ${sees ? "" : "disabled"}`} title={hint}>
      <Icon name="image" />
      <span class="only-wide">{hint}</span>
      <input
        type="file"
        class="unseen"
        multiple
        disabled={!sees}
        accept={TYPES.join(",")}
        aria-label={`Attach pictures. ${hint}`}
        onChange={(event) => {
          const input = event.currentTarget;
          void attach([...(input.files ?? [])]).then(() => {
            input.value = "";
          });
        }}
      />
    </label>
  );
}

interface PicturesProps {
  readonly pictures: readonly ImagePart[];
  readonly drop: (picture: ImagePart) => void;
}

function Pictures({ pictures, drop }: PicturesProps) {
  if (!pictures.length) return null;
  return (
    <ul class="pictures" aria-label="Attached pictures">
      {pictures.map((picture) => (
        <li key={picture.url}>
          <img src={picture.url} alt={picture.name} />
          <Button kind="plain" icon="close" label={`Remove ${picture.name}`} onClick={() => drop(picture)} />
        </li>
      ))}
    </ul>
  );
}
