/** Hand a file to the browser, which saves it. */
export function offer(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

/** Make a title fit for the name of a file. */
export function fileName(title: string, extension: string): string {
  const plain = title
    .replace(/[^\p{L}\p{N} _-]+/gu, "")
    .trim()
    .replace(/\s+/g, "-")
    .slice(0, 60);
  return `${plain || "chat"}.${extension}`;
}
