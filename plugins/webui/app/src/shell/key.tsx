import { useSignal } from "@preact/signals";
import { giveKey, keyWanted, refuseKey } from "../api/key";
import { Dialog } from "../parts/dialog";
import { Check, TextField } from "../parts/field";

/** Asks for an API key whenever the server refuses the one in use. */
export function KeyDialog() {
  const text = useSignal("");
  const remember = useSignal(false);
  if (!keyWanted.value) return null;
  const give = (event: Event) => {
    event.preventDefault();
    if (text.value.trim()) giveKey(text.value.trim(), remember.value);
  };
  return (
    <Dialog title="This server takes an API key" onClose={refuseKey}>
      <form onSubmit={give} class="stack">
        <TextField
          label="API key"
          secret
          value={text.value}
          onInput={(value) => {
            text.value = value;
          }}
        />
        <Check
          label="Remember it in this browser"
          checked={remember.value}
          onChange={(on) => {
            remember.value = on;
          }}
        />
        <div class="row end">
          <button type="submit" class="primary">
            Use key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
