import { useState } from "react";
import type { ConversationMessage } from "./chat.js";
import { Value } from "./value.js";

/** The last messages are what an agent reads first. */
const LAST = 12;

/** A conversation, with the author of each message. */
export function Chat({ messages, label }: { messages: readonly ConversationMessage[]; label: string }) {
  const [shown, setShown] = useState(LAST);
  const hidden = Math.max(0, messages.length - shown);
  return (
    <>
      {hidden > 0 ? (
        <button type="button" className="more" onClick={() => setShown(shown + 100)}>
          Show {hidden.toLocaleString("en")} earlier
        </button>
      ) : null}
      <ol className="chat">
        {messages.slice(hidden).map(({ who, content }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no names
          <li key={hidden + at} className="msg">
            <span className="who">{who}</span>
            <Value value={content} label={`${label}, message ${hidden + at + 1}`} prose />
          </li>
        ))}
      </ol>
    </>
  );
}
