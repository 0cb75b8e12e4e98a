import type { JsonObject, SchemaBody, WebInfo } from "openenv-ts/protocol";
import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { Retry } from "../../../parts/button.js";
import { isTouch } from "../../../parts/enter-hint.js";
import { lazily } from "../../../parts/loading/lazily.js";
import { Notice } from "../../../parts/notice.js";
import { Segments } from "../../../parts/segments.js";
import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";
import { needsReset } from "../../../play/timeline.js";
import type { Fetched } from "../../../use-fetched.js";
import { JsonEditor } from "./json-editor.js";
import { QuickActions } from "./quick-actions.js";
import { SendButton } from "./send-button.js";
import type { ActionDraft } from "./use-draft.js";

const loadForm = () => import("../../../form/schema-form.js");
const SchemaForm = lazily("The form", loadForm);
const FORM_ID = "action";
const MODES = [
  { name: "form", label: "Form" },
  { name: "json", label: "JSON" },
] as const;
// Loads the form in parallel with the schema; a failure is shown in its place.
loadForm().catch(() => {});

interface ActionPaneProps {
  info: WebInfo;
  play: Play;
  shown: PlaySnapshot;
  schema: Fetched<SchemaBody>;
  draft: ActionDraft;
}

/** The next action, as a form or as JSON; both edit the same value. */
export function ActionPane({ info, play, shown, schema, draft }: ActionPaneProps) {
  const [mode, setMode] = useState<"form" | "json">("form");
  const [invalid, setInvalid] = useState(0);
  const focused = useRef(false);
  const description = schema.value?.tools?.find(({ name }) => name === draft.tool)?.description;
  const last = shown.timeline.steps.at(-1);
  const issues = last?.kind === "step" ? issuesFor(last.failure?.issues, draft.tool) : NO_ISSUES;
  const mustReset = needsReset(shown.timeline, info);
  const send = (value: JsonObject): void => {
    if (mustReset || shown.imported || !isFree(shown)) return;
    setInvalid(0);
    void play.send(draft.toAction(value));
  };
  // Issues of an earlier value do not apply to the new one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: on each change of these
  useLayoutEffect(() => setInvalid(0), [draft.tool, draft.value, mode]);
  // With a keyboard, focuses the first field, unless the visitor is typing elsewhere by then.
  const takeFocus = useCallback(() => {
    if (focused.current || isTouch) return;
    focused.current = true;
    if (document.activeElement === document.body) focusFirstField();
  }, []);
  const editor = { id: FORM_ID, value: draft.value, onChange: draft.setValue, onSend: send, onInvalid: setInvalid };
  const button = (
    <SendButton
      form={FORM_ID}
      verb={draft.tool === null ? "Send" : "Call"}
      play={play}
      shown={shown}
      invalid={invalid}
      needsReset={mustReset}
    />
  );
  return (
    <section className="pane pane--act" aria-labelledby="act-h">
      <header className="pane__head">
        <h2 id="act-h" className={draft.tool === null ? "" : "mono"} title={draft.tool ?? undefined}>
          {draft.tool ?? "Action"}
        </h2>
        <span className="grow" />
        <Segments label="Input of the action" options={MODES} selected={mode} onSelect={setMode} />
      </header>
      {/* The action would belong to another episode than the one that is shown. */}
      <div className="pane__body scroll" inert={shown.imported !== undefined}>
        {description ? <p className="hint act__about">{description}</p> : null}
        <QuickActions play={play} shown={shown} needsReset={mustReset} />
        {!draft.schema ? (
          schema.problem ? (
            <Notice tone="bad" title="The form could not be created." actions={<Retry onClick={schema.load} />}>
              {schema.problem}
            </Notice>
          ) : null
        ) : mode === "json" ? (
          <JsonEditor key={draft.tool} {...editor}>
            {button}
          </JsonEditor>
        ) : (
          <SchemaForm key={draft.tool} {...editor} schema={draft.schema} issues={issues} onReady={takeFocus}>
            {button}
          </SchemaForm>
        )}
      </div>
    </section>
  );
}

const NO_ISSUES: never[] = [];

/** The server reports paths in the action; the form of a tool shows only its arguments. */
function issuesFor(
  issues: readonly { type: string; loc: (string | number)[]; msg: string }[] | undefined,
  tool: string | null,
) {
  if (!issues?.length) return NO_ISSUES;
  if (tool === null) return issues;
  return issues.filter(({ loc }) => loc[0] === "arguments").map((issue) => ({ ...issue, loc: issue.loc.slice(1) }));
}

/** Focuses the form for the next action. */
export function focusFirstField(): void {
  const form = document.getElementById(FORM_ID);
  form?.querySelector<HTMLElement>("input:not([type=radio]), textarea, select")?.focus();
}
