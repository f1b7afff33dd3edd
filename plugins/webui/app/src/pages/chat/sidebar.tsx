import { useSignal } from "@preact/signals";
import { fromJson, toJson } from "../../chat/archive";
import type { Head } from "../../chat/database";
import { adopt, find, heads, isRunning } from "../../chat/library";
import { Button } from "../../parts/button";
import { ago } from "../../parts/format";
import { Icon } from "../../parts/icon";
import { notify } from "../../shell/notices";
import { address } from "../../shell/router";
import { ConversationMenu } from "./conversation-menu";
import { offer } from "./files";
import { useView } from "./view";

const SHOWN = 200;

/** The conversations that are kept: found by words, opened, and taken in and out as files. */
export function Sidebar({ current }: { current: string }) {
  const { listed } = useView();
  const wanted = useSignal("");
  const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = heads.value.filter((head) => words.every((word) => head.words.includes(word)));
  const close = () => {
    listed.value = false;
  };
  return (
    <aside class="sidebar" aria-label="Conversations">
      <div class="row">
        <a class="button-like primary" href={address("chat")} onClick={close}>
          <Icon name="plus" /> New chat
        </a>
        <span class="only-narrow">
          <Button kind="plain" icon="close" label="Close the list" onClick={close} />
        </span>
      </div>
      <label class="search">
        <span class="unseen">Search conversations</span>
        <Icon name="search" />
        <input
          id="search-conversations"
          type="search"
          placeholder="Search"
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
      </label>
      <ul class="heads">
        {found.slice(0, SHOWN).map((head) => (
          <Row key={head.id} head={head} current={head.id === current} onOpen={close} />
        ))}
      </ul>
      {found.length === 0 && (
        <p class="hint">
          {heads.value.length ? "Nothing found." : "Conversations are kept in this browser."}
        </p>
      )}
      <Files />
    </aside>
  );
}

function Row({ head, current, onOpen }: { head: Head; current: boolean; onOpen: () => void }) {
  return (
    <li class={current ? "current" : undefined}>
      <a href={address("chat", head.id)} aria-current={current ? "page" : undefined} onClick={onOpen}>
        <span class="title">{head.title}</span>
        <span class="hint">{isRunning(head.id) ? "writing…" : ago(head.updated, Date.now())}</span>
      </a>
      <ConversationMenu head={head} current={current} />
    </li>
  );
}

/** All conversations as one file, and back. */
function Files() {
  const exportAll = async () => {
    const all = await Promise.all(heads.value.map((head) => find(head.id)));
    const conversations = all.flatMap((chat) => (chat ? [chat.state.peek()] : []));
    offer("mlxp-conversations.json", "application/json", toJson(conversations));
  };
  const importFile = async (input: HTMLInputElement) => {
    const [file] = input.files ?? [];
    input.value = "";
    if (!file) return;
    try {
      const conversations = fromJson(await file.text());
      await adopt(conversations);
      notify(`${conversations.length} conversations were imported.`);
    } catch (error) {
      notify(`${file.name}: ${(error as Error).message}`, "error");
    }
  };
  return (
    <div class="row files">
      <Button kind="plain" icon="download" disabled={!heads.value.length} onClick={() => void exportAll()}>
        Export all
      </Button>
      <label class="button-like plain">
        <Icon name="upload" /> Import
        <input
          type="file"
          class="unseen"
          accept="application/json,.json"
          aria-label="Import conversations"
          onChange={(event) => void importFile(event.currentTarget)}
        />
      </label>
    </div>
  );
}
