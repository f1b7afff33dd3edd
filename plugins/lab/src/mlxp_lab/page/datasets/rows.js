/** The rows of a dataset, a page at a time, as they read; each can be edited and removed. */

const PAGE = 20;
const FRESH = {
  chat: {
    messages: [
      { role: "user", content: "" },
      { role: "assistant", content: "" },
    ],
  },
  completion: { prompt: "", completion: "" },
  text: { text: "" },
  preference: { prompt: "", chosen: "", rejected: "" },
};

export function rowsOf(kit) {
  const { html, hooks, app, Select, Button } = kit;
  const Row = rowOf(kit);
  const Editor = editorOf(kit);

  return function Rows({ path, splits, changed, round }) {
    const split = app.query.value.split ?? "train";
    const offset = Number(app.query.value.offset ?? 0);
    const [page, setPage] = hooks.useState(null);
    const [edited, setEdited] = hooks.useState(null);
    hooks.useEffect(() => {
      const asked = new URLSearchParams({ split, offset, limit: PAGE });
      void kit.attempt(async () => setPage(await app.api.json(`${path}/rows?${asked}`)));
    }, [path, split, offset, round]);
    const save = async (line, row) => {
      await app.api.json(`${path}/rows`, { body: { split, version: page.version, edits: [{ line, row }] } });
      setEdited(null);
      changed();
    };
    if (!page) return null;
    const { total } = page;
    const to = (place) => kit.keep({ offset: place });
    return html`
      <section class="stack" aria-label="Rows">
        <header class="row spread">
          <h3>Rows</h3>
          <${Select} label="Part" value=${split}
            options=${Object.entries(splits).map(([name, rows]) => [name, `${name}, ${rows} rows`])}
            onChange=${(value) => kit.keep({ split: value, offset: "" })} />
        </header>
        <ol class="rows">
          ${page.rows.map(
            (card) => html`
              <${Row} key=${card.line} card=${card} onEdit=${() => setEdited(card)}
                onRemove=${() => kit.attempt(() => save(card.line, null))} />`,
          )}
        </ol>
        <div class="row">
          <${Button} icon="left" disabled=${offset <= 0} onClick=${() => to(Math.max(0, offset - PAGE) || "")}>Earlier<//>
          <span class="hint">${total === 0 ? "none" : `${offset + 1} to ${Math.min(total, offset + PAGE)} of ${total}`}</span>
          <${Button} icon="right" disabled=${offset + PAGE >= total} onClick=${() => to(offset + PAGE)}>Later<//>
          <${Button} icon="plus" onClick=${() => setEdited({ line: null, row: like(page.rows[0]?.row) })}>Add a row<//>
        </div>
        ${edited && html`<${Editor} card=${edited} onSave=${(row) => save(edited.line, row)} onClose=${() => setEdited(null)} />`}
      </section>`;
  };
}

/** An empty row of the form of another. */
function like(row) {
  if (row?.messages || !row) return FRESH.chat;
  return "chosen" in row ? FRESH.preference : "completion" in row ? FRESH.completion : FRESH.text;
}

function rowOf({ html, Button }) {
  return function Row({ card, onEdit, onRemove }) {
    return html`
      <li class="card" value=${card.line}>
        <div class="row spread">
          <span class="hint">line ${card.line}</span>
          <span>
            <${Button} kind="plain" icon="edit" label=${`Edit line ${card.line}`} onClick=${onEdit} />
            <${Button} kind="plain" icon="trash" label=${`Remove line ${card.line}`} onClick=${onRemove} />
          </span>
        </div>
        ${card.fault && html`<p class="error">${card.fault}</p>`}
        ${
          card.row
            ? parts(card.row).map(
                ([who, text], at) => html`<p key=${at} class="said-by"><b>${who}</b> ${text}</p>`,
              )
            : html`<pre>${card.text}</pre>`
        }
      </li>`;
  };
}

/** A row as people read it: who says what. */
export function parts(row) {
  const told = (message) => [message?.role ?? "?", wordsOf(message)];
  const prompt = Array.isArray(row.prompt)
    ? row.prompt.map(told)
    : row.prompt === undefined
      ? []
      : [["prompt", row.prompt]];
  const others = ["completion", "chosen", "rejected", "text"]
    .filter((name) => name in row)
    .map((name) => [name, row[name]]);
  const tools = row.tools ? [["tools", row.tools.map((tool) => tool?.function?.name).join(", ")]] : [];
  return [...tools, ...(Array.isArray(row.messages) ? row.messages.map(told) : []), ...prompt, ...others].map(
    ([who, text]) => [who, typeof text === "string" ? text : JSON.stringify(text)],
  );
}

function wordsOf(message) {
  const { content, reasoning_content: thought, tool_calls: calls } = message ?? {};
  const words = Array.isArray(content) ? content.map((part) => part?.text ?? "").join("") : (content ?? "");
  const called = (calls ?? []).map((call) => `${call?.function?.name}(${said(call?.function?.arguments)})`);
  return [thought && `(${thought})`, words, ...called].filter(Boolean).join(" ");
}

const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function editorOf({ html, hooks, Dialog, TextField }) {
  return function Editor({ card, onSave, onClose }) {
    const [text, setText] = hooks.useState(card.row ? JSON.stringify(card.row, null, 2) : card.text);
    const [fault, setFault] = hooks.useState(undefined);
    const save = async (event) => {
      event.preventDefault();
      try {
        await onSave(JSON.parse(text));
      } catch (error) {
        setFault(error.message);
      }
    };
    return html`
      <${Dialog} wide title=${card.line === null ? "A new row" : `Line ${card.line}`} onClose=${onClose}>
        <form class="stack" onSubmit=${save}>
          <${TextField} label="The row, as JSON" rows=${16} mono value=${text} error=${fault} onInput=${setText} />
          <div class="row end"><button type="submit" class="primary">Keep</button></div>
        </form>
      <//>`;
  };
}
