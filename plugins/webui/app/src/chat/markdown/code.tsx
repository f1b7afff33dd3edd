import { useEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../../parts/copy";
import { Icon } from "../../parts/icon";
import { sanitized } from "../../shell/sanitize";

const COPIED_MS = 1500;
const SETTLED_MS = 150;
const MOST_HIGHLIGHTED = 50_000;

interface Props {
  readonly text: string;
  readonly language: string;
}

/** Code with its language and a button that copies it; coloured once it has stopped growing. */
export function CodeBlock({ text, language }: Props) {
  const code = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = code.current;
    if (!element) return;
    element.textContent = text;
    const timer = setTimeout(() => void colour(element, text, language), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text, language]);
  return (
    <figure class="code">
      <figcaption>
        <span>{language || "text"}</span>
        <Copy text={text} label="Copy code" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code ref={code} />
      </pre>
    </figure>
  );
}

async function colour(element: HTMLElement, text: string, language: string): Promise<void> {
  if (!language || text.length > MOST_HIGHLIGHTED) return;
  const { default: highlighter } = await import("highlight.js/lib/common");
  if (!highlighter.getLanguage(language) || element.textContent !== text) return;
  const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
  element.innerHTML = sanitized(value);
}

interface CopyProps {
  readonly text: string;
  readonly label: string;
}

export function Copy({ text, label }: CopyProps) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button
      type="button"
      class="plain small"
      onClick={copy}
      aria-label={copied ? "Copied" : label}
      title={label}
    >
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
}
