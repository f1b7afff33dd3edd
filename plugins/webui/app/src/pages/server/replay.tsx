import type { SettingInForce } from "../../api/answers";
import { usePolled } from "../../api/polled";

const ONCE_S = 3600;

/** How to ask the same again, where transcripts are kept. */
export function Replay({ id }: { readonly id: string }) {
  const settings = usePolled<{ settings: SettingInForce[] }>("/v1/settings", ONCE_S);
  const folder = settings.value?.settings.find((each) => each.name === "server.records")?.value;
  if (typeof folder !== "string") return null;
  return (
    <p>
      Its transcript is kept. Ask the same again:{" "}
      <code>{`mlxp replay ${folder}/*-${id}.transcript.json`}</code>
    </p>
  );
}
