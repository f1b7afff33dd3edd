import { useEffect, useId, useState } from "preact/hooks";
import type { ThoughtPart } from "../../chat/model";
import { seconds } from "../../parts/format";
import { Icon } from "../../parts/icon";

/** What the model thought: open while it thinks, folded afterwards, unless somebody says otherwise. */
export function Thought({ part, growing }: { part: ThoughtPart; growing: boolean }) {
  const [chosen, choose] = useState<boolean | null>(null);
  const id = useId();
  const open = chosen ?? growing;
  return (
    <section class="thought">
      <button
        type="button"
        class="plain"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => choose(!open)}
      >
        <Icon name="thought" />
        {growing ? <Thinking /> : `Thought for ${seconds(part.seconds)}`}
        <Icon name={open ? "down" : "right"} />
      </button>
      <div id={id} hidden={!open} class="thought-text">
        {open ? part.text.trim() : ""}
      </div>
    </section>
  );
}

function Thinking() {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const began = performance.now();
    const timer = setInterval(() => setPassed((performance.now() - began) / 1000), 200);
    return () => clearInterval(timer);
  }, []);
  return <>Thinking… {seconds(passed)}</>;
}
