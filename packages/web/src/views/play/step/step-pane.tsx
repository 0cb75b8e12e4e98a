import type { PublishedTool, WebInfo } from "openenv-ts/protocol";
import { useEffect, useMemo, useState } from "react";
import { IconButton } from "../../../parts/icon-button.js";
import { Boundary } from "../../../parts/loading/boundary.js";
import { Tabs } from "../../../parts/tabs.js";
import { formatMs, formatReward, formatTime } from "../../../parts/text/format.js";
import { diffSteps } from "../../../play/diff.js";
import type { Play, PlaySnapshot } from "../../../play/play.js";
import { summarizeAction } from "../../../play/summary.js";
import type { ActionDraft } from "../action/use-draft.js";
import { STEP_TAB_EVENT, type StepTab } from "../shortcuts.js";
import { DiffView } from "./diff-view.js";
import { EmptyStep } from "./empty-step.js";
import { RawFrames } from "./raw-frames.js";
import { StepBody } from "./step-body.js";

const PANEL = "step-panel";

interface StepPaneProps {
  info: WebInfo;
  play: Play;
  shown: PlaySnapshot;
  draft: ActionDraft;
  tools: readonly PublishedTool[];
}

/** The selected step: its content, its changes, and its raw frames. */
export function StepPane({ info, play, shown, draft, tools }: StepPaneProps) {
  const [tab, setTab] = useState<StepTab>("step");
  useEffect(() => {
    const change = (event: Event): void => setTab((event as CustomEvent<StepTab>).detail);
    document.addEventListener(STEP_TAB_EVENT, change);
    return () => document.removeEventListener(STEP_TAB_EVENT, change);
  }, []);
  const { steps } = play.shown();
  const step = steps[shown.selected];
  const before = step && shown.selected > 0 ? steps[shown.selected - 1] : undefined;
  const diff = useMemo(() => (step && before ? diffSteps(before, step) : undefined), [step, before]);
  if (!step) return <EmptyStep info={info} play={play} shown={shown} />;
  const isTool = step.action["type"] === "call_tool";
  return (
    <section className="pane pane--step" aria-labelledby="step-h">
      <header className="step__head">
        <h2 id="step-h">{step.kind === "reset" ? "Reset" : `Step ${step.number.toLocaleString("en")}`}</h2>
        <div className="measures">
          {isTool || step.failure ? <span className="mono clip">{summarizeAction(step)}</span> : null}
          {step.failure ? null : (
            <>
              {step.kind === "reset" && !step.reward ? null : (
                <span>
                  Reward <b>{formatReward(step.reward)}</b>
                </span>
              )}
              <span>
                Done <b>{String(step.done)}</b>
              </span>
            </>
          )}
          <span>
            Took <b>{formatMs(step.ms)}</b>
          </span>
          {step.at > 0 ? <span className="hide-sm">at {formatTime(step.at, true)}</span> : null}
        </div>
        <div className="moves">
          {step.failure ? <span className="badge badge--bad">{step.failure.code}</span> : null}
          <IconButton icon="up" label="Previous step (K)" onClick={() => play.select(shown.selected - 1)} />
          <IconButton icon="down" label="Next step (J)" onClick={() => play.select(shown.selected + 1)} />
        </div>
      </header>
      <Tabs<StepTab>
        label="Views of the step"
        tabs={[
          { name: "step", label: "Step" },
          { name: "diff", label: <>Diff {diff ? <span className="count">{diff.changes.length}</span> : null}</> },
          { name: "raw", label: "Raw JSON" },
        ]}
        selected={tab}
        onSelect={setTab}
        panel={PANEL}
      />
      <div className="scroll" role="tabpanel" id={PANEL} aria-labelledby={`${PANEL}-${tab}`} tabIndex={0}>
        <Boundary what="This step" subject={`${step.index} ${tab}`}>
          {tab === "step" ? (
            <StepBody info={info} play={play} shown={shown} step={step} draft={draft} tools={tools} />
          ) : tab === "diff" ? (
            <DiffView diff={diff} before={before} />
          ) : (
            <RawFrames key={step.index} step={step} />
          )}
        </Boundary>
      </div>
    </section>
  );
}
