import { isObject } from "openenv-ts/internal";
import type { JsonObject, PublishedTool, WebInfo } from "openenv-ts/protocol";
import { Button } from "../../../parts/button.js";
import { Icon } from "../../../parts/icon.js";
import { Notice } from "../../../parts/notice.js";
import { CopyButton } from "../../../parts/text/copy-button.js";
import { count, formatReward } from "../../../parts/text/format.js";
import { ViewParts } from "../../../parts/text/marked-text.js";
import { Json } from "../../../parts/value/json.js";
import { toolErrorOf } from "../../../play/answer.js";
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
  const tool = tools.find(({ name }) => name === action["tool_name"]);
  return (
    <div className="read">
      <FailureNotice key={`failure ${step.index}`} info={info} play={play} shown={shown} step={step} />
      {step.done && !shown.imported ? <DoneNotice play={play} shown={shown} step={step} /> : null}
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
        <Fields values={args} none={kind === "reset" ? "None. The server chose." : "None"} step={step} />
      </Block>
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
          {view && view.parts.length > 0 ? <ViewParts parts={view.parts} /> : null}
          <Fields values={isCall ? resultOf(observation) : withoutStandard(observation)} none="No fields" step={step} />
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

const WRAPPED = '{"fastmcp":{"wrap_result":true}}';

/**
 * Shows the data once: the text and the structured content of a tool mostly repeat it. The raw frames have everything.
 */
function resultOf(observation: JsonObject): JsonObject {
  const { result } = observation;
  if (!isObject(result)) return {};
  const { content, data, structured_content: structured, is_error: _, meta, ...others } = result;
  const [only, ...more] = Array.isArray(content) ? content : [];
  const text = more.length === 0 && isObject(only) && only["type"] === "text" ? only["text"] : content;
  const json = JSON.stringify(data ?? structured ?? null);
  const isText = json === "null" || text === data || text !== json;
  const isAgain = [json, JSON.stringify({ result: data })].includes(JSON.stringify(structured));
  const shown = {
    ...(isText ? { content: text } : {}),
    ...(isText && text === data ? {} : { data }),
    ...(isAgain ? {} : { structured_content: structured }),
    // Key under which an MCP client finds the data one level deeper.
    ...(JSON.stringify(meta) === WRAPPED ? {} : { meta }),
    ...others,
  };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null && value !== undefined));
}

/** Shown as components of the reward. */
function rest(metadata: JsonObject): JsonObject {
  const { reward_signals: _, ...others } = metadata;
  return others;
}
