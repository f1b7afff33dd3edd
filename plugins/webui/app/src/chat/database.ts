/** Conversations in the browser's IndexedDB: whole ones, and beside them what the list of them shows. */

import type { Conversation } from "./model";
import { textOf } from "./tree";

/** A conversation as the list knows it; `words` is what a search looks through, in lower case. */
export interface Head {
  readonly id: string;
  readonly title: string;
  readonly updated: number;
  readonly words: string;
}

const NAME = "mlxp";
const VERSION = 1;
const WHOLE = "conversations";
const HEADS = "heads";
const MOST_WORDS = 100_000;

let opened: Promise<IDBDatabase> | null = null;

export function headOf(conversation: Conversation): Head {
  const { id, title, updated, turns } = conversation;
  const said = Object.values(turns).map((turn) => textOf(turn.parts));
  return { id, title, updated, words: [title, ...said].join("\n").slice(0, MOST_WORDS).toLowerCase() };
}

/** Return every head, the newest first. */
export async function heads(): Promise<Head[]> {
  const all = await inside("readonly", (stores) => stores.heads.getAll() as IDBRequest<Head[]>);
  return all.sort((a, b) => b.updated - a.updated);
}

export function load(id: string): Promise<Conversation | undefined> {
  return inside("readonly", (stores) => stores.whole.get(id) as IDBRequest<Conversation | undefined>);
}

export async function save(conversation: Conversation): Promise<void> {
  await inside("readwrite", (stores) => {
    stores.heads.put(headOf(conversation));
    return stores.whole.put(conversation);
  });
}

export async function remove(id: string): Promise<void> {
  await inside("readwrite", (stores) => {
    stores.heads.delete(id);
    return stores.whole.delete(id);
  });
}

interface Stores {
  readonly heads: IDBObjectStore;
  readonly whole: IDBObjectStore;
}

/** Do something in one transaction, and return what its last request found once all of it is kept. */
async function inside<T>(mode: IDBTransactionMode, work: (stores: Stores) => IDBRequest<T>): Promise<T> {
  const database = await open();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction([WHOLE, HEADS], mode);
    const request = work({
      heads: transaction.objectStore(HEADS),
      whole: transaction.objectStore(WHOLE),
    });
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(WHOLE, { keyPath: "id" });
      request.result.createObjectStore(HEADS, { keyPath: "id" });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}
