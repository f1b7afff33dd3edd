/** Put a text on the clipboard, also where the browser has none for pages that came without encryption. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const holder = document.createElement("textarea");
  holder.value = text;
  holder.className = "unseen";
  document.body.append(holder);
  holder.select();
  const copied = document.execCommand("copy");
  holder.remove();
  if (!copied)
    throw new Error("the browser does not let this page copy; select the text and copy it by hand");
}
