import type { WebInfo } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Icon } from "../../../parts/icon.js";
import { IconButton } from "../../../parts/icon-button.js";
import { lazily } from "../../../parts/loading/lazily.js";
import { MessageSlot } from "../../../parts/message-slot.js";
import { count, inWords } from "../../../parts/text/format.js";
import type { Play } from "../../../play/play.js";
import { useTasks } from "./use-tasks.js";

const OwnOptions = lazily("The form", () => import("../../../form/schema-form.js"));
const OWN_FORM = "reset-own";
/** Seeds that are exact in Python and in JavaScript. */
const SEEDS = 2 ** 31;

interface ResetOptionsProps {
  info: WebInfo;
  play: Play;
  free: boolean;
  onClose(): void;
}

/** Reset with a seed, a task, an episode id and the environment's own options. Enter resets, Esc closes. */
export function ResetOptions({ info, play, free, onClose }: ResetOptionsProps) {
  const last = play.snapshot().timeline.steps.findLast(({ kind }) => kind === "reset");
  const latest = last?.action ?? {};
  const [seed, setSeed] = useState(latest["seed"] === undefined ? "" : inWords(latest["seed"]));
  // An episode id is used only once.
  const [episodeId, setEpisodeId] = useState(last?.failure ? inWords(latest["episode_id"] ?? "") : "");
  const [split, setSplit] = useState(inWords(latest["split"] ?? ""));
  const [index, setIndex] = useState(latest["index"] === undefined ? "" : inWords(latest["index"]));
  const [own, setOwn] = useState(() => (info.reset_options ? withoutCommon(latest) : {}));
  const [problems, setProblems] = useState<Problems>({});
  const tasks = useTasks(info.tasks);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const close = (): void => {
    onClose();
    document.getElementById("reset-options")?.focus();
  };
  const send = (options: JsonObject): void => {
    if (!free) return;
    const wrong = { seed: wholeNumber("Seed", seed), index: wholeNumber("Task", index) };
    setProblems(wrong);
    if (wrong.seed || wrong.index) return;
    close();
    void play.reset({
      ...options,
      ...(seed === "" ? {} : { seed: Number(seed) }),
      ...(split === "" ? {} : { split }),
      ...(split === "" || index === "" ? {} : { index: Number(index) }),
      ...(episodeId === "" ? {} : { episode_id: episodeId }),
    });
  };
  /** The form of the environment's options validates its fields and submits them. */
  const submit = (): void => {
    const form = document.getElementById(OWN_FORM);
    if (form instanceof HTMLFormElement) form.requestSubmit();
    else send(own);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") close();
    if (event.key !== "Enter" || event.defaultPrevented) return;
    if (event.target instanceof HTMLButtonElement || event.target instanceof HTMLTextAreaElement) return;
    event.preventDefault();
    submit();
  };
  const tasksThere = tasks.splits.find(({ name }) => name === split)?.count;
  return (
    <div className="pop__panel" role="dialog" aria-labelledby="reset-h" onKeyDown={onKeyDown}>
      <header>
        <h2 id="reset-h">Reset options</h2>
        <IconButton icon="close" label="Close" onClick={close} />
      </header>
      <div className="stack scroll">
        <div className="field">
          <div className="label-row">
            <label htmlFor="f-seed">Seed</label>
            <span className="type">integer</span>
          </div>
          <div className="with-btn">
            <input
              ref={first}
              className="input"
              id="f-seed"
              inputMode="numeric"
              autoComplete="off"
              placeholder="None"
              value={seed}
              aria-invalid={problems.seed ? true : undefined}
              aria-describedby="f-seed__error"
              onChange={({ target }) => setSeed(target.value)}
            />
            <button type="button" className="btn" onClick={() => setSeed(String(Math.floor(Math.random() * SEEDS)))}>
              Random
            </button>
          </div>
          <p className="hint">The same seed starts the same episode again if the environment uses it.</p>
          <MessageSlot id="f-seed" announced>
            {problems.seed}
          </MessageSlot>
        </div>
        {info.tasks ? (
          <>
            <div className="cols-2">
              <div className="field">
                <label htmlFor="f-split">Split</label>
                <div className="select">
                  <select
                    className="input"
                    id="f-split"
                    value={split}
                    onChange={({ target }) => setSplit(target.value)}
                  >
                    <option value="">None</option>
                    {tasks.splits.map(({ name }) => (
                      <option key={name}>{name}</option>
                    ))}
                  </select>
                  <Icon name="down" />
                </div>
              </div>
              <div className="field">
                <label htmlFor="f-index">Task</label>
                <input
                  className="input"
                  id="f-index"
                  inputMode="numeric"
                  autoComplete="off"
                  disabled={split === ""}
                  value={index}
                  aria-invalid={problems.index ? true : undefined}
                  aria-describedby="f-index__error"
                  onChange={({ target }) => setIndex(target.value)}
                />
                <MessageSlot id="f-index" announced>
                  {problems.index}
                </MessageSlot>
              </div>
            </div>
            {tasks.problem || tasksThere !== undefined ? (
              <p className="hint">{tasks.problem ?? `Tasks 0 to ${(tasksThere ?? 1) - 1}.`}</p>
            ) : null}
          </>
        ) : null}
        <div className="field">
          <div className="label-row">
            <label htmlFor="f-eid">Episode id</label>
            <span className="type">string</span>
          </div>
          <input
            className="input"
            id="f-eid"
            autoComplete="off"
            placeholder="Generated by the server"
            value={episodeId}
            onChange={({ target }) => setEpisodeId(target.value)}
          />
        </div>
        {info.reset_options ? (
          <OwnOptions
            id={OWN_FORM}
            schema={info.reset_options}
            value={own}
            issues={last?.failure?.issues ?? NO_ISSUES}
            onChange={setOwn}
            onSend={send}
            onInvalid={(fields) => setProblems({ own: `${count(fields, "field")} to correct` })}
          />
        ) : null}
      </div>
      <footer>
        {problems.own ? (
          <span className="err grow" role="alert">
            {problems.own}
          </span>
        ) : (
          <span className="hint grow">Keeps the timeline</span>
        )}
        <button type="button" className="btn btn--ghost" onClick={close}>
          Cancel
        </button>
        <button type="button" className="btn btn--primary" aria-disabled={free ? undefined : true} onClick={submit}>
          Reset<kbd>↵</kbd>
        </button>
      </footer>
    </div>
  );
}

interface Problems {
  seed?: string | undefined;
  index?: string | undefined;
  own?: string | undefined;
}

const NO_ISSUES: never[] = [];

function wholeNumber(name: string, text: string): string | undefined {
  if (text === "") return undefined;
  if (!/^-?\d+$/.test(text.trim())) return `${name} must be an integer.`;
  if (Number.isSafeInteger(Number(text))) return undefined;
  return `${name} must be between −${Number.MAX_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}.`;
}

/** The options that the contract declares. */
function withoutCommon(options: JsonObject): JsonObject {
  const { seed: _s, split: _p, index: _i, episode_id: _e, ...own } = options;
  return own;
}
