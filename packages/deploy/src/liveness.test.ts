import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { renderLife } from "../../providers/src/swarm/service.js";
import { renderTarget } from "./render.js";
import { parseTopology } from "./topology.js";

const DOCKERFILE = join(import.meta.dirname, "../../cli/templates/env/server/Dockerfile");

/** How often a server is asked whether it lives, and the failures after which it is restarted. */
interface Check {
  seconds: number;
  failures: number;
}

type Variables = Record<string, string>;

const TARGETS: [string, (variables: Variables) => Promise<Check> | Check][] = [
  ["Kubernetes", (variables) => ofProbe(render("kubernetes", variables).spec.template.spec.containers[0])],
  ["Compose", (variables) => ofHealthcheck(render("compose", variables).services.env.healthcheck)],
  ["a swarm's stack", (variables) => ofHealthcheck(render("swarm", variables).services.env.healthcheck)],
  ["swarmProvider", async (variables) => ofService(renderLife(await image({}), variables, "1.41"))],
  ["swarmProvider of an image", async (variables) => ofService(renderLife(await image(variables), {}, "1.44"))],
];
const CASES: [Variables, number][] = [
  [{}, 30],
  [{ WORKER_TIMEOUT: "90" }, 90],
  [{ STEP_TIMEOUT: "600", WORKER_TIMEOUT: "5" }, 600],
];

test.each(
  TARGETS.flatMap(([target, find]) => CASES.map(([variables, limit]) => [target, variables, limit, find] as const)),
)(
  "%s restarts a server with %j only after more than %d s without an answer",
  async (_target, variables, limit, find) => {
    expect(leastSilence(await find(variables))).toBeGreaterThan(limit);
  },
);

test("a container of an image is unhealthy only after more than the default of WORKER_TIMEOUT without an answer", async () => {
  expect(leastSilence(ofService({ Healthcheck: (await image({})).healthcheck }))).toBeGreaterThan(30);
});

/** The first failure may come at once, and the others as fast as a refused connection is noticed. */
function leastSilence({ seconds, failures }: Check): number {
  return seconds * (failures - 1);
}

function render(target: "kubernetes" | "compose" | "swarm", variables: Variables) {
  const topology = parseTopology({ image: "echo:1", nodes: 3, variables });
  const [text = ""] = Object.values(renderTarget(target, topology));
  return parseAllDocuments(text)[0]?.toJS();
}

interface Container {
  livenessProbe: { periodSeconds: number; failureThreshold: number };
}

function ofProbe({ livenessProbe }: Container): Check {
  return { seconds: livenessProbe.periodSeconds, failures: livenessProbe.failureThreshold };
}

function ofHealthcheck({ interval, retries }: { interval: string; retries: number }): Check {
  return { seconds: Number.parseInt(interval, 10), failures: retries };
}

function ofService(life: object): Check {
  const { Healthcheck } = life as { Healthcheck: { Interval: number; Retries: number } };
  return { seconds: Healthcheck.Interval / 1e9, failures: Healthcheck.Retries };
}

/** What an engine knows of an image that `openenv init` makes. */
async function image(env: Variables) {
  const [, interval, retries] =
    /HEALTHCHECK --interval=(\d+)s .*--retries=(\d+)/.exec(await readFile(DOCKERFILE, "utf8")) ?? [];
  return { exposed: [], env, healthcheck: { Interval: Number(interval) * 1e9, Retries: Number(retries) } };
}
