import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import type { JsonObject } from "../../../../openenv/src/protocol/messages.js";
import type { WebInfo } from "../../../../openenv/src/protocol/web.js";
import { inWords } from "../../parts/format.js";
import { Icon } from "../../parts/icon.js";
import { IconButton } from "../../parts/icon-button.js";
import { lazily } from "../../parts/lazily.js";
import type { Play } from "../../play/play.js";
import { useTasks } from "./use-tasks.js";

const OwnOptions = lazily("The form", () => import("../../form/schema-form.js"));
const OWN_FORM = "reset-own";
/** Seeds that Python's and JavaScript's numbers both hold. */
const SEEDS = 2 ** 31;

interface ResetOptionsProps {
  info: WebInfo;
  play: Play;
  free: boolean;
  onClose(): void;
}

/** Reset with a seed, a task, an episode id and the environment's own options. Enter resets, Esc closes. */
export function ResetOptions({ info, play, free, onClose }: ResetOptionsProps) {
  const latest = play.snapshot().timeline.episodes.at(-1)?.reset ?? {};
  const [seed, setSeed] = useState(latest["seed"] === undefined ? "" : inWords(latest["seed"]));
  const [episodeId, setEpisodeId] = useState("");
  const [split, setSplit] = useState(inWords(latest["split"] ?? ""));
  const [index, setIndex] = useState(latest["index"] === undefined ? "" : inWords(latest["index"]));
  const [own, setOwn] = useState<JsonObject>({});
  const [problem, setProblem] = useState<string>();
  const tasks = useTasks(info.tasks);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const close = (): void => {
    onClose();
    document.getElementById("reset-options")?.focus();
  };
  const send = (): void => {
    if (!free) return;
    const wrong = seed !== "" && !/^-?\d+$/.test(seed.trim()) ? "Seed must be a whole number." : undefined;
    const wrongTask = index !== "" && !/^-?\d+$/.test(index.trim()) ? "Task must be a whole number." : undefined;
    setProblem(wrong ?? wrongTask);
    if (wrong || wrongTask) return;
    close();
    void play.reset({
      ...own,
      ...(seed === "" ? {} : { seed: Number(seed) }),
      ...(split === "" ? {} : { split }),
      ...(split === "" || index === "" ? {} : { index: Number(index) }),
      ...(episodeId === "" ? {} : { episode_id: episodeId }),
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") close();
    if (event.key !== "Enter" || event.target instanceof HTMLButtonElement) return;
    event.preventDefault();
    send();
  };
  const count = tasks.splits.find(({ name }) => name === split)?.count;
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
              aria-invalid={problem?.startsWith("Seed") ? true : undefined}
              onChange={({ target }) => setSeed(target.value)}
            />
            <button type="button" className="btn" onClick={() => setSeed(String(Math.floor(Math.random() * SEEDS)))}>
              Random
            </button>
          </div>
          <p className="hint">The same seed starts the same episode again, where the environment uses it.</p>
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
                  onChange={({ target }) => setIndex(target.value)}
                />
              </div>
            </div>
            {tasks.problem || count !== undefined ? (
              <p className="hint">{tasks.problem ?? `Tasks 0 to ${(count ?? 1) - 1}.`}</p>
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
            placeholder="Made by the server"
            value={episodeId}
            onChange={({ target }) => setEpisodeId(target.value)}
          />
        </div>
        {info.reset_options ? (
          <OwnOptions
            id={OWN_FORM}
            schema={info.reset_options}
            value={own}
            issues={NO_ISSUES}
            onChange={setOwn}
            onSend={send}
            onInvalid={(fields) => setProblem(`${fields} to correct`)}
          />
        ) : null}
        {problem ? (
          <p className="err" role="alert">
            <Icon name="alert" />
            <span>{problem}</span>
          </p>
        ) : null}
      </div>
      <footer>
        <span className="hint grow">Keeps the timeline</span>
        <button type="button" className="btn btn--ghost" onClick={close}>
          Cancel
        </button>
        <button type="button" className="btn btn--primary" aria-disabled={free ? undefined : true} onClick={send}>
          Reset<kbd>↵</kbd>
        </button>
      </footer>
    </div>
  );
}

const NO_ISSUES: never[] = [];
