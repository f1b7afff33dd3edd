import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { readCards } from "../../chat/cards";
import { type Chat, create, find, readLibrary } from "../../chat/library";
import { lastOptions } from "../../chat/options";
import { type PageProps, pageOf } from "../page";
import { Composer } from "./composer";
import { Header } from "./header";
import { Inspector } from "./inspector";
import { OptionsPanel } from "./options-panel";
import { useShortcuts } from "./shortcuts";
import { Sidebar } from "./sidebar";
import { Thread } from "./thread";
import { type Panel, View } from "./view";
import "./chat.css";

function ChatPage({ app, rest }: PageProps) {
  const chat = useChat(rest.value[0], (id) => app.navigate(["chat", id], { replace: true }));
  const panel = useSignal<Panel>("none");
  const inspected = useSignal<string | null>(null);
  const listed = useSignal(false);
  useEffect(() => {
    void readCards();
    void readLibrary();
  }, []);
  useShortcuts({ chat, panel, listed });

  return (
    <View.Provider value={{ panel, inspected, listed }}>
      <div class={`chat ${listed.value ? "listed" : ""} ${panel.value === "none" ? "" : "paneled"}`}>
        <h1 class="unseen">Chat</h1>
        <Sidebar current={chat?.id ?? ""} />
        {chat && (
          <section class="conversation" aria-label="Conversation" key={chat.id}>
            <Header chat={chat} />
            <Thread chat={chat} />
            <Composer chat={chat} />
          </section>
        )}
        {chat && panel.value === "options" && <OptionsPanel chat={chat} />}
        {chat && panel.value === "inspector" && <Inspector chat={chat} />}
      </div>
    </View.Provider>
  );
}

/** Return the conversation of an id; without one, a new one, whose id becomes the address once something is said. */
function useChat(id: string | undefined, settle: (id: string) => void): Chat | null {
  const [chat, setChat] = useState<Chat | null>(null);
  useEffect(() => {
    let gone = false;
    void (id === undefined ? Promise.resolve(null) : find(id)).then((found) => {
      if (!gone) setChat(found ?? create(lastOptions()));
    });
    return () => {
      gone = true;
    };
  }, [id]);
  const said = chat !== null && chat.state.value.leaf !== null;
  useEffect(() => {
    if (said && chat && chat.id !== id) settle(chat.id);
  }, [said, chat]);
  return chat;
}

export default pageOf(ChatPage);
