/** How a new conversation begins, where another page opens it. */
export interface Draft {
  readonly text?: string;
  readonly model?: string;
  /** Further fields of its requests, such as `{ stages: { ... } }`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export async function openDraft(_draft: Draft): Promise<void> {}
