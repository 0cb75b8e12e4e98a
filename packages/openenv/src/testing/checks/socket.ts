import type { EnvClient } from "../../client/env-client.js";
import type { ServerAddress } from "../../client/transport/address.js";
import { RemoteError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { collectEpisode, type EpisodePlan, type RecordedCall } from "../collect-episode.js";
import { metadataProblems, rewardProblems, schemaProblems, stateProblems } from "../graders.js";
import { type CheckDefinition, demand, show } from "../report.js";

/** The input of the checks of one session. */
export interface SocketSubject {
  address: ServerAddress;
  headers: Record<string, string>;
  timeoutMs: number;
  episodeTimeoutMs: number | undefined;
  /** The body of `GET /schema`. */
  schema: JsonObject;
  rewardRange: readonly [number, number] | undefined;
  /** The recorded episode. */
  plan: EpisodePlan;
  /** The reset options that the contract declares. */
  reset: JsonObject;
  open(): Promise<EnvClient>;
}

const MARK = "openenv_check";

/** The checks of one episode on a plain socket. */
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
        "Serve the WebSocket /ws next to the HTTP routes. An illegal move is an observation, not an error; if sampled actions achieve nothing, give your own actions.",
      run: async () => {
        exchanges = await collectEpisode(subject.address, subject.plan, subject);
        demand(
          exchanges.some(({ operation }) => operation === "step"),
          "the episode was done after reset: no step was possible",
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
      "every observation and state matches the published schema",
      "Change the schema or the returned value; if reset returns another shape, publish it as reset_observation.",
      () => schemaProblems(exchanges, subject.schema),
    ),
    graded(
      "episode_id",
      "the state has the given episode id and counts the steps",
      "Use the episode_id of the reset and count the steps since then.",
      () => stateProblems(exchanges),
    ),
    {
      id: "metadata",
      description: "metadata of actions is accepted, and metadata of observations arrives unchanged",
      remedy:
        "Accept an object `metadata` in every action; send the metadata of the observation unchanged in it and next to it.",
      needs: "episode",
      run: async () => {
        judge(metadataProblems(exchanges));
        await metadataTaken(subject);
      },
    },
    {
      id: "bad_input",
      description: "an invalid action is rejected with VALIDATION_ERROR, and the session continues",
      remedy: "Reject unknown fields (additionalProperties: false) with an error frame and keep the socket open.",
      needs: "episode",
      run: () => badInput(subject),
    },
  ];
}

const MAX_PROBLEMS = 5;

function judge(problems: readonly string[]): void {
  const more = problems.length > MAX_PROBLEMS ? [`${problems.length - MAX_PROBLEMS} more`] : [];
  demand(problems.length === 0, [...problems.slice(0, MAX_PROBLEMS), ...more].join("; "));
}

async function metadataTaken({ open, plan, reset }: SocketSubject): Promise<void> {
  await using env = await open();
  await env.reset({ ...reset });
  const [action = {}] = plan.actions;
  const answer = await env.step(action, { metadata: { [MARK]: "kept" } }).catch((error: unknown) => error);
  demand(!(answer instanceof Error), `an action with metadata was rejected: ${String(answer)}`);
  const { metadata } = answer as { metadata: JsonObject };
  const returned = MARK in metadata ? metadata[MARK] : "kept";
  demand(returned === "kept", `metadata of the action was returned as ${show(returned)}`, {
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
  demand(!(after instanceof Error), `after the rejection the session does not continue: ${String(after)}`);
}
