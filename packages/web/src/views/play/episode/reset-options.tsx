import type { JsonObject, WebInfo } from "openenv-ts/protocol";
import { type ComponentProps, type KeyboardEvent, useEffect, useState } from "react";
import { Button } from "../../../parts/button.js";
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
const randomSeed = (): string => String(Math.floor(Math.random() * 2 ** 31));

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
  const [fields, setFields] = useState(() => ({
    seed: inWords(latest["seed"] ?? ""),
    split: inWords(latest["split"] ?? ""),
    index: inWords(latest["index"] ?? ""),
    // An episode id is used only once.
    episodeId: last?.failure ? inWords(latest["episode_id"] ?? "") : "",
  }));
  useEffect(() => document.getElementById("f-seed")?.focus(), []);
  const [own, setOwn] = useState(() => (info.reset_options ? withoutCommon(latest) : {}));
  const [problems, setProblems] = useState(NO_PROBLEMS);
  const change = (changed: Partial<Fields>): void => setFields({ ...fields, ...changed });
  const close = (): void => {
    onClose();
    document.getElementById("reset-options")?.focus();
  };
  const send = (options: JsonObject): void => {
    if (!free) return;
    const { seed, split, index, episodeId } = fields;
    const wrong = { seed: wholeNumber("Seed", seed), index: wholeNumber("Task", index), own: "" };
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
  return (
    <div className="pop__panel" role="dialog" aria-labelledby="reset-h" onKeyDown={onKeyDown}>
      <header>
        <h2 id="reset-h">Reset options</h2>
        <IconButton icon="close" label="Close" onClick={close} />
      </header>
      <div className="stack scroll">
        <CommonOptions hasTasks={info.tasks} fields={fields} problems={problems} onChange={change} />
        {info.reset_options ? (
          <OwnOptions
            id={OWN_FORM}
            schema={info.reset_options}
            value={own}
            issues={last?.failure?.issues ?? NO_ISSUES}
            onChange={setOwn}
            onSend={send}
            onInvalid={(wrong) => setProblems({ ...NO_PROBLEMS, own: `${count(wrong, "field")} to correct` })}
          />
        ) : null}
      </div>
      <footer>
        <span className={`${problems.own ? "err" : "hint"} grow`} role={problems.own ? "alert" : undefined}>
          {problems.own || "Keeps the timeline"}
        </span>
        <Button look="ghost" onClick={close}>
          Cancel
        </Button>
        <Button look="primary" free={free} onClick={submit}>
          Reset<kbd>↵</kbd>
        </Button>
      </footer>
    </div>
  );
}

type Fields = Record<"seed" | "split" | "index" | "episodeId", string>;

interface CommonOptionsProps {
  hasTasks: boolean;
  fields: Fields;
  problems: typeof NO_PROBLEMS;
  onChange(changed: Partial<Fields>): void;
}

function CommonOptions({ hasTasks, fields, problems, onChange }: CommonOptionsProps) {
  const { splits, problem } = useTasks(hasTasks);
  const tasks = splits.find(({ name }) => name === fields.split)?.count;
  return (
    <>
      <TextField
        id="f-seed"
        label="Seed"
        type="integer"
        value={fields.seed}
        problem={problems.seed}
        hint="The same seed starts the same episode again if the environment uses it."
        inputMode="numeric"
        placeholder="None"
        onChange={(seed) => onChange({ seed })}
      >
        <Button onClick={() => onChange({ seed: randomSeed() })}>Random</Button>
      </TextField>
      {hasTasks ? (
        <div className="cols-2">
          <div className="field">
            <label htmlFor="f-split">Split</label>
            <div className="select">
              <select
                className="input"
                id="f-split"
                value={fields.split}
                onChange={({ target }) => onChange({ split: target.value })}
              >
                <option value="">None</option>
                {splits.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
              <Icon name="down" />
            </div>
          </div>
          <TextField
            id="f-index"
            label="Task"
            value={fields.index}
            problem={problems.index}
            inputMode="numeric"
            disabled={fields.split === ""}
            onChange={(index) => onChange({ index })}
          />
        </div>
      ) : null}
      {problem || tasks !== undefined ? <p className="hint">{problem ?? `Tasks 0 to ${(tasks ?? 1) - 1}.`}</p> : null}
      <TextField
        id="f-eid"
        label="Episode id"
        type="string"
        value={fields.episodeId}
        placeholder="Generated by the server"
        onChange={(episodeId) => onChange({ episodeId })}
      />
    </>
  );
}

interface TextFieldProps extends Omit<ComponentProps<"input">, "onChange"> {
  label: string;
  hint?: string;
  /** Why the value is rejected; undefined for a field that shows no message. */
  problem?: string;
  onChange(value: string): void;
}

/** The children are at the end of the line. */
function TextField({ id = "", label, type, problem, hint, children, onChange, ...input }: TextFieldProps) {
  return (
    <div className="field">
      <div className="label-row">
        <label htmlFor={id}>{label}</label>
        {type ? <span className="type">{type}</span> : null}
      </div>
      <div className="with-btn">
        <input
          className="input"
          id={id}
          autoComplete="off"
          aria-invalid={problem ? true : undefined}
          aria-describedby={problem === undefined ? undefined : `${id}__error`}
          onChange={({ target }) => onChange(target.value)}
          {...input}
        />
        {children}
      </div>
      {hint ? <p className="hint">{hint}</p> : null}
      {problem === undefined ? null : (
        <MessageSlot id={id} announced>
          {problem}
        </MessageSlot>
      )}
    </div>
  );
}

const NO_PROBLEMS = { seed: "", index: "", own: "" };
const NO_ISSUES: never[] = [];

function wholeNumber(name: string, text: string): string {
  if (text === "") return "";
  if (!/^-?\d+$/.test(text.trim())) return `${name} must be an integer.`;
  if (Number.isSafeInteger(Number(text))) return "";
  return `${name} must be between −${Number.MAX_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}.`;
}

/** The options that the contract declares. */
function withoutCommon(options: JsonObject): JsonObject {
  const { seed: _s, split: _p, index: _i, episode_id: _e, ...own } = options;
  return own;
}
