import { useSignal } from "@preact/signals";
import { toJson, toMarkdown } from "../../chat/archive";
import type { Head } from "../../chat/database";
import { find, remove, rename } from "../../chat/library";
import type { Conversation } from "../../chat/model";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { TextField } from "../../parts/field";
import { navigate } from "../../shell/router";
import { fileName, offer } from "./files";

interface Props {
  readonly head: Head;
  readonly current: boolean;
}

/** What can be done with a conversation as a whole. */
export function ConversationMenu({ head, current }: Props) {
  const open = useSignal(false);
  return (
    <>
      <Button
        kind="plain"
        icon="more"
        label={`More for “${head.title}”`}
        onClick={() => {
          open.value = true;
        }}
      />
      {open.value && (
        <Menu
          head={head}
          current={current}
          close={() => {
            open.value = false;
          }}
        />
      )}
    </>
  );
}

function Menu({ head, current, close }: Props & { close: () => void }) {
  const title = useSignal(head.title);
  const take = async (extension: string, type: string, write: (conversation: Conversation) => string) => {
    const chat = await find(head.id);
    if (chat) offer(fileName(head.title, extension), type, write(chat.state.peek()));
    close();
  };
  const keep = async (event: Event) => {
    event.preventDefault();
    if (title.value.trim()) await rename(head.id, title.value.trim());
    close();
  };
  const forget = async () => {
    close();
    await remove(head.id);
    if (current) navigate(["chat"]);
  };
  return (
    <Dialog title="Conversation" onClose={close}>
      <form class="stack" onSubmit={keep}>
        <TextField
          label="Title"
          value={title.value}
          onInput={(text) => {
            title.value = text;
          }}
        />
        <div class="row">
          <button type="submit" class="primary">
            Rename
          </button>
          <Button icon="download" onClick={() => void take("md", "text/markdown", toMarkdown)}>
            Markdown
          </Button>
          <Button
            icon="download"
            onClick={() => void take("json", "application/json", (one) => toJson([one]))}
          >
            JSON
          </Button>
          <Button kind="danger" icon="trash" onClick={() => void forget()}>
            Delete
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
