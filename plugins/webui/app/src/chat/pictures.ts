import type { ImagePart } from "./model";

/** Largest file that may be attached. */
export const MOST_BYTES = 10 * 2 ** 20;
export const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"] as const;

/** Read a file as a part of a message. Throws an `Error` that says why it cannot be taken. */
export async function pictureOf(file: File): Promise<ImagePart> {
  if (!TYPES.some((type) => type === file.type)) {
    throw new Error(`${file.name || "The file"} is no PNG, JPEG, WebP or GIF picture`);
  }
  if (file.size > MOST_BYTES)
    throw new Error(`${file.name} is over the limit of ${MOST_BYTES / 2 ** 20} MiB`);
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
  return { kind: "image", url, name: file.name || "picture" };
}
