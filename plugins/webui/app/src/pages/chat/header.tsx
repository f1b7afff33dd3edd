import { useSignal } from "@preact/signals";
import { cardOf, cards, cardsFault } from "../../chat/cards";
import type { Chat } from "../../chat/library";
import type { Options, WireName } from "../../chat/model";
import { keepOptions } from "../../chat/options";
import { WIRES } from "../../chat/wire";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { SHORTCUTS } from "./shortcuts";
import { type Panel, useView } from "./view";

/** Change some options of a conversation; new ones will begin with them. */
export function setOptions(chat: Chat, some: Partial<Options>): void {
  chat.update((conversation) => {
    const options = { ...conversation.options, ...some };
    keepOptions(options);
    return { ...conversation, options };
  });
}

/** Which model, which protocol, and what else can be opened. */
export function Header({ chat }: { chat: Chat }) {
  const { panel, listed } = useView();
  const helping = useSignal(false);
  const { title, options } = chat.state.value;
  const toggle = (which: Panel) => () => {
    panel.value = panel.value === which ? "none" : which;
  };
  return (
    <header class="chat-header">
      <span class="only-narrow">
        <Button
          kind="plain"
          icon="menu"
          label="Conversations"
          expanded={listed.value}
          onClick={() => {
            listed.value = !listed.value;
          }}
        />
      </span>
      <h2>{title}</h2>
      <div class="choices">
        <ModelChoice chat={chat} />
        <label>
          <span class="unseen">Protocol</span>
          <select
            value={options.protocol}
            onChange={(event) => setOptions(chat, { protocol: event.currentTarget.value as WireName })}
          >
            {WIRES.map((wire) => (
              <option key={wire.name} value={wire.name}>
                {wire.title}
              </option>
            ))}
          </select>
        </label>
        <Button
          kind="plain"
          icon="sliders"
          label="Options"
          pressed={panel.value === "options"}
          onClick={toggle("options")}
        />
        <Button
          kind="plain"
          icon="code"
          label="Inspector"
          pressed={panel.value === "inspector"}
          onClick={toggle("inspector")}
        />
        <span class="only-wide">
          <Button
            kind="plain"
            label="Keyboard shortcuts"
            onClick={() => {
              helping.value = true;
            }}
          >
            ?
          </Button>
        </span>
      </div>
      {helping.value && (
        <Help
          close={() => {
            helping.value = false;
          }}
        />
      )}
    </header>
  );
}

function ModelChoice({ chat }: { chat: Chat }) {
  const { model } = chat.state.value.options;
  if (cardsFault.value) return <span class="hint error">{cardsFault.value}</span>;
  return (
    <label>
      <span class="unseen">Model</span>
      <select
        value={cardOf(model)?.id ?? ""}
        onChange={(event) => setOptions(chat, { model: event.currentTarget.value, adapters: [] })}
      >
        {cards.value
          .filter((card) => card.capabilities.chat)
          .map((card) => (
            <option key={card.id} value={card.id}>
              {card.id}
              {card.state === "loaded" ? "" : ` (${card.state})`}
            </option>
          ))}
      </select>
    </label>
  );
}

function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={close}>
      <table>
        <tbody>
          {SHORTCUTS.map(([keys, does]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
