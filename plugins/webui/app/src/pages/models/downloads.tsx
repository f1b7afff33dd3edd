import { useState } from "preact/hooks";
import type { Download } from "../../api/answers";
import type { Polled } from "../../api/polled";
import { Button, format, Meter, TextField } from "../../parts";
import type { App } from "../../shell/app";

interface Props {
  readonly app: App;
  readonly downloads: Polled<{ downloads: Download[] }>;
}

/** A form to fetch a model by its id, and how the newest downloads are. */
export function Downloads({ app, downloads }: Props) {
  const [repo, setRepo] = useState("");
  const [fault, setFault] = useState<string>();

  const ask = async (name: string, sent: { method: string; body?: unknown }, path: string) => {
    try {
      await app.api.json(path, sent);
      setFault(undefined);
      if (name === repo) setRepo("");
    } catch (error) {
      setFault((error as Error).message);
    }
    downloads.again();
  };
  const start = (name: string) => ask(name, { method: "POST", body: { repoId: name } }, "/downloads");
  const stop = (name: string) => ask("", { method: "DELETE" }, `/downloads/${name}`);

  return (
    <section aria-label="Download">
      <h2>Download</h2>
      <form
        class="row fetch"
        onSubmit={(event) => {
          event.preventDefault();
          void start(repo.trim());
        }}
      >
        <TextField
          label="Model of the Hugging Face hub"
          value={repo}
          onInput={setRepo}
          placeholder="owner/name"
          hint="What has come so far is kept: a download that stops goes on where it was."
          error={fault}
        />
        <button type="submit" class="primary" disabled={!repo.trim()}>
          Download
        </button>
      </form>
      <ul class="plainlist">
        {downloads.value?.downloads.map((each) => (
          <li key={each.repoId} class="card">
            <Progress card={each} />
            {each.state === "active" && (
              <Button icon="stop" onClick={() => void stop(each.repoId)}>
                Stop
              </Button>
            )}
            {each.state === "error" && (
              <Button icon="again" onClick={() => void start(each.repoId)}>
                Go on
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Progress({ card }: { readonly card: Download }) {
  const parts = [{ name: said(card), value: card.receivedBytes, text: format.bytes(card.receivedBytes) }];
  return (
    <>
      <Meter
        label={card.repoId}
        parts={parts}
        total={Math.max(card.totalBytes, 1)}
        totalText={`of ${card.totalBytes ? format.bytes(card.totalBytes) : "an unknown size"}, ${card.filesDone} of ${card.filesTotal} files`}
        tone={card.state === "error" ? "over" : "normal"}
      />
      {card.error && <p class="hint error">{card.error}</p>}
    </>
  );
}

function said(card: Download): string {
  if (card.state === "done") return "complete";
  if (card.state === "error") return "stopped";
  const left = card.totalBytes - card.receivedBytes;
  const time = card.bytesPerSec > 0 && left > 0 ? `, ${format.seconds(left / card.bytesPerSec)} left` : "";
  return `${format.bytes(card.bytesPerSec)}/s${time}`;
}
