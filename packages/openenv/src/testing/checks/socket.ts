import type { EnvClient } from "../../client/env-client.js";
import type { ServerAddress } from "../../client/transport/address.js";
import { RemoteError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { collectEpisode, type EpisodePlan, type RecordedCall } from "../collect-episode.js";
import { metadataProblems, rewardProblems, schemaProblems, stateProblems } from "../graders.js";
import { type CheckDefinition, demand, show } from "../report.js";

/** What the checks of one session need. */
export interface SocketSubject {
  address: ServerAddress;
  headers: Record<string, string>;
  timeoutMs: number;
  episodeTimeoutMs: number | undefined;
  /** What `GET /schema` tells. */
  schema: JsonObject;
  rewardRange: readonly [number, number] | undefined;
  /** What is played and looked at. */
  plan: EpisodePlan;
  /** The environment's own reset options. */
  reset: JsonObject;
  open(): Promise<EnvClient>;
}

const MARK = "openenv_check";

/** One episode on a bare socket, and what it shows. */
export function socketChecks(subject: SocketSubject): CheckDefinition[] {
  let exchanges: RecordedCall[] = [];
  const graded = (id: string, description: string, remedy: string, grade: () => string[]): CheckDefinition => ({
    id,
    description,
    remedy,
    needs: "episode",
    run: async () => judge(grade()),
  });
  return [
    {
      id: "episode",
      description: "an episode can be played on /ws: reset, steps and state are answered",
      remedy:
        "Serve the WebSocket /ws beside the HTTP routes. An illegal move is an observation, not an error; where sampled actions reach nothing, give actions of your own.",
      run: async () => {
        exchanges = await collectEpisode(subject.address, subject.plan, subject);
        demand(
          exchanges.some(({ operation }) => operation === "step"),
          "the episode was done at its reset: no step could be taken",
        );
      },
    },
    graded(
      "rewards",
      "every step has a finite number as reward",
      "Return a number as reward from every step, 0 or 1 instead of a boolean; raise an error instead of inventing one.",
      () => rewardProblems(exchanges, subject.rewardRange),
    ),
    graded(
      "schemas_hold",
      "every observation and state fits the published schema",
      "Change the schema or what is returned; where reset shows something else, publish it as reset_observation.",
      () => schemaProblems(exchanges, subject.schema),
    ),
    graded(
      "episode_id",
      "the state has the given episode id and counts the steps",
      "Take over the episode_id of the reset and count the steps since then.",
      () => stateProblems(exchanges),
    ),
    {
      id: "metadata",
      description: "metadata of actions is taken, and that of observations arrives whole",
      remedy: "Let every action have an object `metadata`; send that of the observation unchanged in it and beside it.",
      needs: "episode",
      run: async () => {
        judge(metadataProblems(exchanges));
        await metadataTaken(subject);
      },
    },
    {
      id: "bad_input",
      description: "an invalid action is refused with VALIDATION_ERROR, and the session lives on",
      remedy: "Refuse unknown fields (additionalProperties: false) with an error frame and keep the socket open.",
      needs: "episode",
      run: () => badInput(subject),
    },
  ];
}

const MOST_PROBLEMS = 5;

function judge(problems: readonly string[]): void {
  const more = problems.length > MOST_PROBLEMS ? [`${problems.length - MOST_PROBLEMS} more`] : [];
  demand(problems.length === 0, [...problems.slice(0, MOST_PROBLEMS), ...more].join("; "));
}

async function metadataTaken({ open, plan, reset }: SocketSubject): Promise<void> {
  await using env = await open();
  await env.reset({ ...reset });
  const [action = {}] = plan.actions;
  const answer = await env.step(action, { metadata: { [MARK]: "kept" } }).catch((error: unknown) => error);
  demand(!(answer instanceof Error), `an action with metadata was refused: ${String(answer)}`);
  const { metadata } = answer as { metadata: JsonObject };
  const returned = MARK in metadata ? metadata[MARK] : "kept";
  demand(returned === "kept", `metadata of the action came back as ${show(returned)}`, {
    expected: "kept",
    actual: returned,
  });
}

async function badInput({ open, reset }: SocketSubject): Promise<void> {
  await using env = await open();
  await env.reset({ ...reset });
  const refusal = await env.step({ "no such field": true }).then(
    () => undefined,
    (error: unknown) => error,
  );
  demand(refusal instanceof RemoteError, `an action with an unknown field was answered with ${String(refusal)}`);
  demand(refusal.wireCode === "VALIDATION_ERROR", `it was answered with the code ${refusal.wireCode}`);
  const after: unknown = await env.state().catch((error: unknown) => error);
  demand(!(after instanceof Error), `after the refusal the session does not go on: ${String(after)}`);
}
