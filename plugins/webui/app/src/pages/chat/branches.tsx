import type { Chat } from "../../chat/library";
import type { Turn } from "../../chat/model";
import { shown, siblings } from "../../chat/tree";
import { Button } from "../../parts/button";

/** Goes from a turn to what else was said, or answered, in its place. */
export function Branches({ chat, turn }: { chat: Chat; turn: Turn }) {
  const all = siblings(chat.state.value, turn);
  if (all.length < 2) return null;
  const place = all.findIndex((each) => each.id === turn.id);
  const go = (to: number) => () => {
    const other = all[to];
    if (other) chat.update((conversation) => shown(conversation, other));
  };
  return (
    <fieldset class="branches">
      <legend class="unseen">Branches</legend>
      <Button
        kind="plain"
        icon="left"
        label="Previous branch"
        disabled={place === 0}
        onClick={go(place - 1)}
      />
      <span>
        {place + 1} / {all.length}
      </span>
      <Button
        kind="plain"
        icon="right"
        label="Next branch"
        disabled={place === all.length - 1}
        onClick={go(place + 1)}
      />
    </fieldset>
  );
}
