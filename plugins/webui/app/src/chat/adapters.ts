import { signal } from "@preact/signals";
import { json } from "../api/client";

/** An adapter on disk that goes with the model. */
export interface OnDisk {
  readonly id: string;
  readonly path: string;
  readonly rank: number | null;
  readonly mounted: boolean;
}

export const onDisk = signal<readonly OnDisk[]>([]);

export async function readAdapters(model: string): Promise<void> {
  try {
    const found = await json<{ adapters: OnDisk[] }>(
      `/v1/adapters/available?model=${encodeURIComponent(model)}`,
    );
    onDisk.value = found.adapters;
  } catch {
    onDisk.value = []; // a server without the plugin for adapters, or without folders of them
  }
}

/** Mount an adapter for a model. Throws `Problem` where it does not fit. */
export async function mount({ id, path }: OnDisk, model: string): Promise<void> {
  await json("/v1/adapters", { body: { id, path, model } });
}
