import { isObject } from "openenv-ts/internal";
import type { JsonObject, PublishedTool, WebInfo } from "openenv-ts/protocol";
import type { ReactNode } from "react";
import { Button } from "../../../parts/button.js";
import { Fold } from "../../../parts/fold.js";
import { Icon } from "../../../parts/icon.js";
import { Notice } from "../../../parts/notice.js";
import { CopyButton } from "../../../parts/text/copy-button.js";
import { count, formatReward } from "../../../parts/text/format.js";
import { ViewParts } from "../../../parts/text/marked-text.js";
import { Json } from "../../../parts/value/json.js";
import { resultOf, toolErrorOf } from "../../../play/answer.js";
import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";
import { withoutStandard } from "../../../play/summary.js";
import { eventOf, type TimelineStep } from "../../../play/timeline.js";
import { Fields } from "../action/fields.js";
import type { ActionDraft } from "../action/use-draft.js";
import { RewardParts } from "../reward/reward-parts.js";
import { Block } from "./block.js";
import { DoneNotice, FailureNotice } from "./step-notices.js";

interface StepBodyProps {
  info: WebInfo;
  play: Play;
  shown: PlaySnapshot;
  step: TimelineStep;
  draft: ActionDraft;
  tools: readonly PublishedTool[];
}

/** The action, the result and the reward. */
export function StepBody({ info, play, shown, step, draft, tools }: StepBodyProps) {
  const { action, kind, observation, view, metadata } = step;
  const isCall = action["type"] === "call_tool";
  const args = isCall && isObject(action["arguments"]) ? action["arguments"] : action;
  const title = kind === "reset" ? "Reset options" : isCall ? "Arguments" : "Action";
  const toolError = toolErrorOf(observation);
  const result = observation === null ? {} : isCall ? resultOf(observation) : withoutStandard(observation);
  const hasView = view !== undefined && view.parts.length > 0;
  const tool = tools.find(({ name }) => name === action["tool_name"]);
  return (
    <div className="read">
      <FailureNotice key={`failure ${step.index}`} info={info} play={play} shown={shown} step={step} />
      {step.done && !shown.imported ? <DoneNotice play={play} shown={shown} step={step} /> : null}
      <ActionBlock info={info} play={play} shown={shown} step={step} draft={draft} args={args} title={title} />
      {observation === null ? null : (
        <Block
          title={isCall ? "Result" : "Observation"}
          badge={isCall ? <CallBadge error={toolError !== undefined} /> : null}
          end={<CopyButton key={step.index} what="observation" text={() => JSON.stringify(observation, null, 2)} />}
        >
          {toolError ? (
            <Notice
              tone="bad"
              title={
                <>
                  The call failed: <bdi>{toolError.type}</bdi>
                </>
              }
            >
              {toolError.message}
            </Notice>
          ) : null}
          {view?.problem ? (
            <Notice tone="wait" title="The author's rendering failed">
              <bdi>{view.problem}</bdi> The fields below are complete.
            </Notice>
          ) : null}
          {hasView ? <ViewParts parts={view.parts} /> : null}
          <FoldIf
            key={step.index}
            when={hasView && Object.keys(result).length > 0}
            label={`Show ${count(Object.keys(result).length, "field")}`}
          >
            <Fields values={result} none={hasView ? "" : "No fields"} step={step} />
          </FoldIf>
        </Block>
      )}
      <RewardParts step={step} />
      {metadata && Object.keys(rest(metadata)).length > 0 ? (
        <Block title="Metadata">
          <Fields values={rest(metadata)} none="" step={step} />
        </Block>
      ) : null}
      {isCall && tool ? <ToolBlock tool={tool} /> : null}
      {step.total !== null && step.number > 0 ? (
        <p className="hint block">Total of the episode after this step: {formatReward(step.total)}</p>
      ) : null}
    </div>
  );
}

interface ActionBlockProps extends Omit<StepBodyProps, "tools"> {
  args: JsonObject;
  title: string;
}

/** What was sent, and what can be done with it. */
function ActionBlock({ info, play, shown, step, draft, args, title }: ActionBlockProps) {
  const { action, kind } = step;
  return (
    <Block
      title={title}
      end={
        <>
          {!shown.imported && eventOf(shown.timeline, step) !== undefined ? (
            <Button
              look="ghost sm"
              free={isFree(shown) && info.fork_problem === null}
              title={info.fork_problem === null ? undefined : `No session can be copied: ${info.fork_problem}`}
              onClick={() => void play.fork(step)}
            >
              Fork from here
            </Button>
          ) : null}
          {kind === "step" && draft.takes(action) ? (
            <Button look="ghost sm" onClick={() => draft.use(action)}>
              Use again
            </Button>
          ) : null}
          <CopyButton key={step.index} what={title.toLowerCase()} text={() => JSON.stringify(args, null, 2)} />
        </>
      }
    >
      <FoldIf key={step.index} when={isTall(args)} label={`Show ${count(Object.keys(args).length, "field")}`}>
        <Fields values={args} none={kind === "reset" ? "None. The server chose." : "None"} step={step} />
      </FoldIf>
    </Block>
  );
}

/** One rendering by default: the author's view, or the result below a long action. The fields are one button away. */
function FoldIf({ when, label, children }: { when: boolean; label: string; children: ReactNode }) {
  return when ? <Fold label={label}>{children}</Fold> : children;
}

/** The result of a tall action would be below the fold. */
function isTall(args: JsonObject): boolean {
  const lines = Object.values(args).reduce((sum: number, value) => {
    if (typeof value === "string") return sum + Math.min(4, 1 + value.split("\n", 4).length);
    return sum + (typeof value === "object" && value !== null && Object.keys(value).length > 4 ? 4 : 1);
  }, 0);
  return lines > MAX_LINES;
}

const MAX_LINES = 12;

function ToolBlock({ tool }: { tool: PublishedTool }) {
  return (
    <Block title="Tool">
      <dl className="rows">
        <div>
          <dt>input_schema</dt>
          <dd>
            <details>
              <summary className="more">
                Show schema, {count(Object.keys(tool.input_schema["properties"] ?? {}).length, "field")}
                <Icon name="down" />
              </summary>
              <Json value={tool.input_schema} />
            </details>
          </dd>
        </div>
        <div>
          <dt>sent as</dt>
          <dd>
            step with <code>call_tool</code> <span className="muted">· counts as a step</span>
          </dd>
        </div>
      </dl>
    </Block>
  );
}

function CallBadge({ error }: { error: boolean }) {
  if (error) return <span className="badge badge--bad">Failed</span>;
  return (
    <span className="badge badge--ok">
      <Icon name="check" />
      OK
    </span>
  );
}

/** The metadata without the components of the reward. */
function rest(metadata: JsonObject): JsonObject {
  const { reward_signals: _, ...others } = metadata;
  return others;
}
