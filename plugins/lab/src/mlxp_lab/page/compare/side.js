/** One of two conversations: its turns as a signal, and the answer that is being written. */

const PATH = "/v1/chat/completions";

export function sideOf(api, signal) {
  const turns = signal([]);
  const busy = signal(false);
  let left = new AbortController();

  const change = (some) => {
    const last = turns.peek().at(-1);
    turns.value = [...turns.peek().slice(0, -1), { ...last, ...some(last) }];
  };

  async function say(text, fields) {
    const messages = [
      ...turns
        .peek()
        .filter(({ fault }) => !fault)
        .map(message),
      { role: "user", content: text },
    ];
    turns.value = [...turns.peek(), { role: "user", text }, { role: "assistant", text: "", thought: "" }];
    left = new AbortController();
    busy.value = true;
    try {
      const body = { ...fields, messages, stream: true };
      for await (const { data } of api.events(PATH, { body, signal: left.signal })) take(data);
    } catch (error) {
      if (!left.signal.aborted) change(() => ({ fault: error.message }));
    }
    busy.value = false;
  }

  function take(data) {
    if (!data.startsWith("{")) return;
    const { error, choices } = JSON.parse(data);
    if (error) throw new Error(error.message);
    const { content = "", reasoning_content: thought = "" } = choices?.[0]?.delta ?? {};
    if (content || thought)
      change((last) => ({ text: last.text + (content ?? ""), thought: last.thought + (thought ?? "") }));
  }

  return {
    turns,
    busy,
    say,
    stop: () => left.abort(),
    clear() {
      turns.value = [];
    },
  };
}

const message = ({ role, text }) => ({ role, content: text });
