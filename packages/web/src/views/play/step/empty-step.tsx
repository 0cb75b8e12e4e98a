import type { WebInfo } from "openenv-ts/protocol";
import { Button } from "../../../parts/button.js";
import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";

/** The empty state: explains the page and offers the first action. */
export function EmptyStep({ info, play, shown }: { info: WebInfo; play: Play; shown: PlaySnapshot }) {
  const free = isFree(shown);
  return (
    <section className="pane pane--step" aria-labelledby="step-h">
      <div className="empty">
        <h2 id="step-h" className="empty__title">
          {info.description.replace(/\.$/, "") || info.name}
        </h2>
        <p>
          You have a separate session. Reset starts an episode. Then send actions and watch the observations, the reward
          and the state.
        </p>
        <div className="acts">
          <Button look="primary" free={free} onClick={() => void play.reset({})}>
            Reset<kbd>R</kbd>
          </Button>
          <a className="btn btn--ghost" href="#/about">
            {info.readme === null ? "Use" : "Read about"} <bdi>{info.name}</bdi>
            {info.readme === null ? " from code" : ""}
          </a>
        </div>
      </div>
    </section>
  );
}
