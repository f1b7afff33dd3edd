import { Parser, type Token, type Tokens } from "marked";
import { memo } from "preact/compat";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { sanitized } from "../../shell/sanitize";
import { Blocks } from "./blocks";
import { CodeBlock } from "./code";
import { markdown } from "./dialect";
import { drawFormulas } from "./formulas";

interface Props {
  readonly text: string;
  /** Whether more of it may come. */
  readonly growing: boolean;
}

/** Markdown that grows: only the block at its end is read again. */
export function Markdown({ text, growing }: Props) {
  const blocks = useMemo(() => new Blocks(), []);
  return (
    <div class="markdown">
      {blocks.of(text, !growing).map(({ at, token }) => (
        <Shown key={at} raw={token.raw} token={token} />
      ))}
    </div>
  );
}

interface ShownProps {
  readonly raw: string;
  readonly token: Token;
}

function Show({ token }: ShownProps) {
  if (token.type === "space" || token.type === "def") return null;
  if (token.type === "code") {
    const { text, lang = "" } = token as Tokens.Code;
    return <CodeBlock text={text} language={lang.trim().split(/\s+/)[0] ?? ""} />;
  }
  return <Markup token={token} />;
}

/** Equal text is equal markup, so a block is made again only when its text changed. */
const Shown = memo(Show, (before, after) => before.raw === after.raw);

/** Markup from the sanitizer, which is the only text that the browser takes as such. */
function Markup({ token }: { token: Token }) {
  const element = useRef<HTMLDivElement>(null);
  const markup = sanitized(Parser.parse([token], markdown.defaults));
  useEffect(() => {
    if (element.current) void drawFormulas(element.current);
  });
  return <div ref={element} dangerouslySetInnerHTML={{ __html: markup }} />;
}
