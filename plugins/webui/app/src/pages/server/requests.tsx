import type { EndedChoice, RequestList, RunningRequest } from "../../api/answers";
import { usePolled } from "../../api/polled";
import { Button, type Column, format, Table } from "../../parts";
import type { App } from "../../shell/app";
import { EndedDialog } from "./ended";
import { speed } from "./speed";

const OFTEN_S = 2;
const SHOWN = 50;

/** What runs and what ended last; a request that ended is opened by its id in the address. */
export function Requests({ app, opened }: { readonly app: App; readonly opened: string | null }) {
  const list = usePolled<RequestList>(`/v1/requests?limit=${SHOWN}`, OFTEN_S);
  const cancel = async (id: string) => {
    try {
      await app.api.json(`/v1/requests/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (error) {
      app.notify((error as Error).message, "error");
    }
    list.again();
  };
  const open = (id: string | null) =>
    app.navigate(id === null ? ["server"] : ["server", id], { replace: true });
  const chosen = opened === null ? [] : (list.value?.ended.filter((each) => each.id === opened) ?? []);

  return (
    <section aria-label="Requests">
      <h2>Requests</h2>
      {list.problem && <p class="hint error">{list.problem.message}</p>}
      {list.value && list.value.running.length > 0 && (
        <Table
          caption="Running requests"
          columns={[...RUNNING, { title: "Stop", cell: (row) => <Stop row={row} cancel={cancel} /> }]}
          rows={list.value.running}
          rowKey={(row) => row.id}
        />
      )}
      <div class="tall">
        <Table
          caption="Requests that ended"
          columns={[...ENDED, { title: "More", cell: (row) => <More row={row} open={open} /> }]}
          rows={list.value?.ended ?? []}
          rowKey={(row) => `${row.id} ${row.choice}`}
          empty="No request has ended yet."
        />
      </div>
      {chosen.length > 0 && <EndedDialog choices={chosen} onClose={() => open(null)} />}
    </section>
  );
}

const RUNNING: Column<RunningRequest>[] = [
  { title: "Request", cell: (row) => <code>{row.id}</code> },
  { title: "API", cell: (row) => row.protocol || "a plugin" },
  { title: "Model", cell: (row) => row.model },
  { title: "State", cell: (row) => progress(row) },
  { title: "Age", numeric: true, cell: (row) => format.seconds(row.age_s) },
];

const ENDED: Column<EndedChoice>[] = [
  { title: "Ended", cell: (row) => format.ago(row.ended_at, Date.now()) },
  { title: "API", cell: (row) => row.protocol || "a plugin" },
  { title: "Model", cell: (row) => row.model },
  { title: "Prompt", numeric: true, cell: (row) => prompt(row) },
  { title: "Answer", numeric: true, cell: (row) => `${format.count(row.completion_tokens)}` },
  { title: "Speed", numeric: true, cell: (row) => speed(row) },
  {
    title: "End",
    cell: (row) => <span class={row.error === null ? "badge" : "badge bad"}>{row.reason}</span>,
  },
];

function Stop({ row, cancel }: { readonly row: RunningRequest; readonly cancel: (id: string) => void }) {
  return <Button kind="plain" icon="stop" label={`Stop ${row.id}`} onClick={() => cancel(row.id)} />;
}

function More({ row, open }: { readonly row: EndedChoice; readonly open: (id: string) => void }) {
  return <Button kind="plain" icon="more" label={`Details of ${row.id}`} onClick={() => open(row.id)} />;
}

function progress({ choices }: RunningRequest): string {
  return choices
    .map((each) => (each.state === "prefilling" ? `reading ${each.read} of ${each.prompt}` : each.state))
    .join(", ");
}

function prompt(row: EndedChoice): string {
  return row.cached_tokens > 0
    ? `${format.count(row.prompt_tokens)} (${format.count(row.cached_tokens)} cached)`
    : format.count(row.prompt_tokens);
}
