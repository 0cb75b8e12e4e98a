/** The port of a host: an environment outside of this thread is lost between calls and during them. */
import { expect, test } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import type { EnvironmentDefinition } from "../../environment/environment.js";
import { type EnvironmentHost, type Hosted, hosted } from "../../environment/environment-host.js";
import { SessionKilledError } from "../session-killed.js";

const { start, open } = useServers();
const RESET = { type: "reset", data: {} };
const OBSERVATION = { type: "observation" };
const REASON = "the machine of the environment was stopped";

/** Runs the environments here. Loses one by `lose()`, and in a step with the amount 14. */
class TestHost implements EnvironmentHost {
  readonly environments: (Hosted & { lose(): void })[] = [];
  readonly #definition: EnvironmentDefinition;

  constructor(definition: EnvironmentDefinition) {
    this.#definition = definition;
  }

  async create(): Promise<Hosted> {
    const inner = await this.#definition.create();
    let listener: ((reason: string) => void) | undefined;
    const made = {
      ...inner,
      [hosted]: true as const,
      lost: undefined as string | undefined,
      onLost: (given: (reason: string) => void) => void (listener = given),
      lose() {
        made.lost = REASON;
        listener?.(REASON);
      },
      step: (action: unknown, context: Parameters<Hosted["step"]>[1]) => {
        if ((action as { amount: number }).amount !== 14) return inner.step(action as never, context);
        made.lose();
        throw new SessionKilledError("ISOLATE_LOST", REASON);
      },
    };
    this.environments.push(made);
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

async function serve() {
  const environment = defineCounter().environment as unknown as EnvironmentDefinition;
  const host = new TestHost(environment);
  const served = { environment: { ...environment, create: () => host.create() } };
  return { host, server: await start({ maxConcurrentEnvs: 1 }, served) };
}

test("a session ends with the reason for which its host has lost the environment, and its slot is free", async () => {
  const { host, server } = await serve();
  const socket = await open(server);
  expect(await socket.ask(RESET)).toMatchObject(OBSERVATION);
  host.environments[0]?.lose();
  expect(await socket.closed).toEqual({ code: 4000, reason: REASON });
  expect(await (await open(server)).ask(RESET)).toMatchObject(OBSERVATION);
});

test("a call in which the environment is lost is answered before the session ends", async () => {
  const { server } = await serve();
  const socket = await open(server);
  await socket.ask(RESET);
  expect(await socket.ask({ type: "step", data: { amount: 14 } })).toMatchObject({
    type: "error",
    data: { code: "ISOLATE_LOST", message: REASON },
  });
  expect(await socket.closed).toEqual({ code: 4000, reason: REASON });
});
