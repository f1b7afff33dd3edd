import { type Signal, signal } from "@preact/signals";
import { notify } from "../shell/notices";
import * as database from "./database";
import type { Conversation, Options } from "./model";
import { begun } from "./tree";

const SAVE_AFTER_MS = 400;

/** What the list of conversations shows, the newest first. */
export const heads = signal<readonly database.Head[]>([]);

/** An answer on its way. */
export interface Running {
  readonly turn: string;
  readonly stop: () => void;
}

/** A conversation that is open, in view or not. */
export class Chat {
  readonly state: Signal<Conversation>;
  readonly running = signal<Running | null>(null);
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(conversation: Conversation) {
    this.state = signal(conversation);
  }

  get id(): string {
    return this.state.peek().id;
  }

  /** Change it; it is kept a moment later. */
  update(change: (conversation: Conversation) => Conversation): void {
    this.state.value = change(this.state.peek());
    this.timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS);
  }

  /** Keep it now. One without turns is not worth it. */
  async save(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const conversation = this.state.peek();
    if (!conversation.leaf || gone.has(conversation.id)) return;
    list(database.headOf(conversation));
    try {
      await database.save(conversation);
      if (!this.running.peek()) otherTabs.postMessage(conversation.id);
    } catch (error) {
      complain(error);
    }
  }

  isUnsaved(): boolean {
    return this.timer !== null;
  }
}

/** Tells other tabs of the app which conversation was kept or deleted. */
const otherTabs = new BroadcastChannel("mlxp.conversations");
otherTabs.onmessage = (message: MessageEvent<unknown>) => void refresh(String(message.data));

const chats = new Map<string, Chat>();
const gone = new Set<string>();
let complained = false;

export async function readLibrary(): Promise<void> {
  try {
    heads.value = await database.heads();
  } catch (error) {
    complain(error);
  }
}

export function create(options: Options): Chat {
  const chat = new Chat(begun(options, Date.now()));
  chats.set(chat.id, chat);
  return chat;
}

/** Return a conversation by id: the one that is open, else the one that is kept; `null` where there is none. */
export async function find(id: string): Promise<Chat | null> {
  const open = chats.get(id);
  if (open) return open;
  const kept = await database.load(id).catch(() => undefined);
  if (!kept) return null;
  const chat = chats.get(id) ?? new Chat(kept);
  chats.set(id, chat);
  return chat;
}

export async function rename(id: string, title: string): Promise<void> {
  const chat = await find(id);
  chat?.update((conversation) => ({ ...conversation, title, named: true }));
  await chat?.save();
}

export async function remove(id: string): Promise<void> {
  gone.add(id);
  chats.get(id)?.running.peek()?.stop();
  chats.delete(id);
  heads.value = heads.value.filter((head) => head.id !== id);
  await database.remove(id).catch(complain);
  otherTabs.postMessage(id);
}

/** Keep conversations that come from elsewhere; one of an id that is here already replaces it. */
export async function adopt(conversations: readonly Conversation[]): Promise<void> {
  for (const conversation of conversations) {
    gone.delete(conversation.id);
    const open = chats.get(conversation.id);
    if (open) open.state.value = conversation;
    await database.save(conversation);
    otherTabs.postMessage(conversation.id);
  }
  await readLibrary();
}

/** Say whether an answer is being written in a conversation, without opening it. */
export function isRunning(id: string): boolean {
  return chats.get(id)?.running.value != null;
}

/** Show what another tab kept, unless there is something newer here. */
async function refresh(id: string): Promise<void> {
  await readLibrary();
  const chat = chats.get(id);
  if (!chat || chat.running.peek() || chat.isUnsaved()) return;
  const kept = await database.load(id).catch(() => undefined);
  if (kept) chat.state.value = kept;
}

function list(head: database.Head): void {
  const others = heads.peek().filter((each) => each.id !== head.id);
  heads.value = [...others, head].sort((a, b) => b.updated - a.updated);
}

function complain(error: unknown): void {
  if (complained) return;
  complained = true;
  notify(`Conversations cannot be kept in this browser: ${(error as Error).message}`, "error");
}

/** What is not kept yet is kept before the page goes. */
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden") return;
  for (const chat of chats.values()) if (chat.isUnsaved()) void chat.save();
});
