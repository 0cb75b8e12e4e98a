/**
 * Compares two policies on tasks in JSON Lines. The reward is a rubric with a gate, a weighted sum, a judge behind an
 * OpenAI-compatible endpoint and a score of the whole episode. Run it with `npx openenv run
 * examples/rubric-reward/main.ts`. With JUDGE_URL, JUDGE_MODEL and JUDGE_KEY a real model judges; without, a small
 * scripted endpoint, which fails at first.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Action,
  createTasks,
  defineContract,
  defineEnvironment,
  Gate,
  LLMJudge,
  parseJsonl,
  Rubric,
  type ScoredObservation,
  Sequential,
  TrajectoryRubric,
  type TrajectoryStep,
  WeightedSum,
} from "openenv-ts";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import * as z from "zod";

const TASKS = `
{"text": "the cat sat on the mat because the mat was warm", "words": 4}
{"text": "rain fell all night and the river rose until the bridge was gone", "words": 5}
{"text": "she sold the farm, bought a boat and sailed around the world", "words": 4}
`;

const contract = defineContract({
  name: "headline_env",
  description: "Write a headline with few words; you may try three times.",
  action: z.object({ headline: z.string() }),
  observation: z.object({ text: z.string(), limit: z.int(), tries: z.int() }),
});
type Move = Action<typeof contract>;
type Seen = ScoredObservation<typeof contract>;

const wordsOf = (text: string) => text.split(/\W+/).filter(Boolean);

class ShortEnough extends Rubric<Move, Seen> {
  override forward({ headline }: Move, { limit }: Seen) {
    const count = wordsOf(headline).length;
    return count > 0 && count <= limit ? 1 : 0;
  }
}

/** The share of the headline's words that occur in the text. */
class Faithful extends Rubric<Move, Seen> {
  override forward({ headline }: Move, { text }: Seen) {
    const known = new Set(wordsOf(text));
    const words = wordsOf(headline);
    return words.filter((word) => known.has(word)).length / words.length;
  }
}

/** The share of attempts with a new headline: repetition is not progress. */
class Variety extends TrajectoryRubric<Move, Seen> {
  override scoreTrajectory(steps: readonly TrajectoryStep<Move, Seen>[]) {
    return new Set(steps.map(({ action }) => action.headline)).size / steps.length;
  }
}

/** A judge that is overloaded once, then prefers short headlines. */
async function startScriptedJudge() {
  let asked = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (asked++ === 0) return response.writeHead(429, { "retry-after": "0" }).end();
    const headline = /Headline: \{"headline":"(.*?)"\}/.exec(JSON.parse(body).messages[0].content)?.[1] ?? "";
    const content = `Score: ${Math.max(0, 10 - wordsOf(headline).length)}/10`;
    response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

await using scripted = await startScriptedJudge();
const { JUDGE_URL, JUDGE_MODEL = "scripted", JUDGE_KEY } = process.env;

const environment = defineEnvironment(
  contract,
  () => {
    let task = { text: "", limit: 0 };
    let tries = 0;
    const judge = new LLMJudge<Move, Seen>({
      url: JUDGE_URL ?? scripted.url,
      model: JUDGE_MODEL,
      ...(JUDGE_KEY && { apiKey: JUDGE_KEY }),
      prompt: "Headline: {action}\nText: {observation}\nHow good is the headline? Reply like this: Score: 7/10",
    });
    return {
      rubric: new Sequential(
        new Gate(new ShortEnough()),
        new WeightedSum(
          { faithful: new Faithful(), judge, variety: new Variety() },
          { faithful: 0.5, judge: 0.25, variety: 0.25 },
        ),
      ),
      reset: ({ task: given }) => {
        task = { text: String(given?.["text"] ?? ""), limit: Number(given?.["words"] ?? 0) };
        tries = 0;
        return { observation: { ...task, tries } };
      },
      step: () => ({ observation: { ...task, tries: ++tries }, done: tries === 3 }),
    };
  },
  { tasks: createTasks({ train: parseJsonl(TASKS) }), rubricScores: true },
);

type Policy = (text: string, limit: number, attempt: number) => string;
const chatty: Policy = (text) => `Here is a fine headline about ${text}`;
const careful: Policy = (text, limit, attempt) =>
  wordsOf(text)
    .slice(attempt, attempt + limit)
    .join(" ");

await using server = await serve(environment, { port: 0, logLevel: "silent" });

/** The mean reward per step over all tasks. */
async function evaluate(policy: Policy): Promise<number> {
  await using env = await connect(server.url, contract);
  const count = await env.tasks.count("train");
  const rewards: number[] = [];
  for (let index = 0; index < count; index++) {
    let result = await env.reset({ split: "train", index });
    while (!result.done) {
      const { text, limit, tries } = result.observation;
      result = await env.step({ headline: policy(text, limit, tries) });
      assert.ok(typeof result.reward === "number" && result.reward >= 0 && result.reward <= 1);
      assert.ok("rubric_1.judge" in (result.metadata["rubric_scores"] as object));
      rewards.push(result.reward);
    }
  }
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}

const [low, high] = [await evaluate(chatty), await evaluate(careful)];
assert.equal(low, 0, "headlines that are too long never reach the judge");
assert.ok(high > low);
if (JUDGE_URL === undefined)
  assert.equal(scripted.asked(), 10, "nine steps were judged, one of them on the second try");
console.log(`mean reward of a step: chatty ${low.toFixed(2)}, careful ${high.toFixed(2)}`);
