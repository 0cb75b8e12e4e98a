import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { EnterHint } from "../../../parts/enter-hint.js";
import { MessageSlot } from "../../../parts/message-slot.js";

interface JsonEditorProps {
  id: string;
  value: JsonObject;
  onChange(value: JsonObject): void;
  onSend(value: JsonObject): void;
  onInvalid(problems: number): void;
  children: ReactNode;
}

/** The action as the text that is sent. */
export function JsonEditor({ id, value, onChange, onSend, onInvalid, children }: JsonEditorProps) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const [seen, setSeen] = useState(value);
  const [problem, setProblem] = useState<string>();
  // Another value came from elsewhere, such as "Use again".
  if (seen !== value) {
    setSeen(value);
    setText(JSON.stringify(value, null, 2));
    setProblem(undefined);
  }
  const write = (next: string): void => {
    setText(next);
    const parsed = parse(next);
    if (typeof parsed === "string") return;
    setProblem(undefined);
    setSeen(parsed);
    onChange(parsed);
  };
  const send = (): void => {
    const parsed = parse(text);
    setProblem(typeof parsed === "string" ? parsed : undefined);
    onInvalid(typeof parsed === "string" ? 1 : 0);
    if (typeof parsed !== "string") onSend(parsed);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className="act-one"
      id={id}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div className="field">
        <label className="sr" htmlFor={`${id}-json`}>
          Action as JSON
        </label>
        <textarea
          className="input input--mono"
          id={`${id}-json`}
          rows={Math.min(18, Math.max(6, text.split("\n").length + 1))}
          spellCheck={false}
          value={text}
          aria-invalid={problem ? true : undefined}
          aria-describedby={`${id}-json__error ${id}-json__keys`}
          onChange={({ target }) => write(target.value)}
          onBlur={() => setProblem(describe(parse(text)))}
          onKeyDown={onKeyDown}
        />
        <MessageSlot id={`${id}-json`} kind="tall">
          {problem}
        </MessageSlot>
        <EnterHint id={`${id}-json__keys`} />
      </div>
      {children}
    </form>
  );
}

function describe(parsed: JsonObject | string): string | undefined {
  return typeof parsed === "string" ? parsed : undefined;
}

/** The object, or what is wrong with the text. */
function parse(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : "An action must be a JSON object in braces.";
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}.`;
  }
}
