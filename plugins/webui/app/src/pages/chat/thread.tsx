import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Chat } from "../../chat/library";
import { path, textOf } from "../../chat/tree";
import { Button } from "../../parts/button";
import { AnswerTurn } from "./answer-turn";
import { UserTurn } from "./user-turn";
import { Welcome } from "./welcome";

/** So close to the end, what comes is followed. */
const NEAR_PX = 80;
const TOLD = 300;

/** The branch that is shown, from its first turn to its last. */
export function Thread({ chat }: { chat: Chat }) {
  const conversation = chat.state.value;
  const turns = path(conversation);
  const running = chat.running.value?.turn;
  const { scroller, content, away, follow } = useFollowing(turns.length);
  return (
    <div class="thread-holder">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div class="thread" ref={scroller} tabIndex={0} role="log" aria-label="Messages" aria-live="off">
        <div class="turns" ref={content}>
          {turns.length === 0 && <Welcome chat={chat} />}
          {turns.map((turn) =>
            turn.role === "user" ? (
              <UserTurn key={turn.id} chat={chat} turn={turn} />
            ) : (
              <AnswerTurn key={turn.id} chat={chat} turn={turn} writing={turn.id === running} />
            ),
          )}
        </div>
      </div>
      {away.value && (
        <div class="to-end">
          <Button icon="down" label="Go to the end" onClick={follow} />
        </div>
      )}
      <Spoken chat={chat} />
    </div>
  );
}

/** Keep the end in view while it is in view. */
function useFollowing(turns: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const away = useSignal(false);
  const follow = () => {
    pinned.current = true;
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  };
  useEffect(() => {
    const element = scroller.current;
    if (!element || !content.current) return;
    let before = element.scrollTop;
    const look = () => {
      const near = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
      // Only people scroll up; what grows below does not count as leaving the end.
      if (near) pinned.current = true;
      else if (element.scrollTop < before) pinned.current = false;
      before = element.scrollTop;
      away.value = !pinned.current;
    };
    const grown = new ResizeObserver(() => {
      if (pinned.current) element.scrollTop = element.scrollHeight;
      else look();
    });
    grown.observe(content.current);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      grown.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  useLayoutEffect(follow, [turns]);
  return { scroller, content, away, follow };
}

/** What a screen reader is told: that an answer is being written and, once it is there, how it begins. */
function Spoken({ chat }: { chat: Chat }) {
  const running = chat.running.value !== null;
  const was = useRef(false);
  const told = useSignal("");
  useEffect(() => {
    if (running) told.value = "The answer is being written.";
    else if (was.current) {
      const last = path(chat.state.peek()).at(-1);
      told.value = last?.fault ?? `The answer is there: ${textOf(last?.parts ?? []).slice(0, TOLD)}`;
    }
    was.current = running;
  }, [running]);
  return (
    <p class="unseen" role="status">
      {told.value}
    </p>
  );
}
