import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { createProject, type Project, startCommand } from "../../../test-support/commands/command-line.js";
import { render } from "../../../test-support/deploy/render-cases.js";
import { startRedis } from "../../../test-support/journals/redis.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { requireRedis } from "../../../test-support/requirement.js";
import { WHERE } from "../../../test-support/servers/cluster.js";
import { connect } from "../../openenv/src/connect.js";

const component = await requireRedis();

const TARGETS = ["compose", "swarm", "kubernetes"] as const;

interface Service {
  command: string[];
  environment: Record<string, string>;
}
interface Container {
  args: string[];
  env: { name: string; value?: string }[];
}

/** The command of the Redis and the variables of the servers in the rendered files. */
function readRendered(target: (typeof TARGETS)[number]): { command: string[]; variables: Record<string, string> } {
  const files = render({ target, topology: { image: "where:1", journal: "redis" } });
  const documents = Object.entries(files)
    .filter(([name]) => name.endsWith(".yaml"))
    .flatMap(([, text]) => parseAllDocuments(text).map((document): unknown => document.toJS()));
  if (target !== "kubernetes") {
    const { services } = documents[0] as { services: Record<"env" | "journal", Service> };
    return { command: services.journal.command, variables: services.env.environment };
  }
  const containerOf = (kind: string, name: string): Container => {
    const [found] = documents.filter((one) => {
      const { kind: own, metadata } = one as { kind: string; metadata: { name: string } };
      return own === kind && metadata.name === name;
    });
    return (found as { spec: { template: { spec: { containers: [Container] } } } }).spec.template.spec.containers[0];
  };
  const { args } = containerOf("StatefulSet", "openenv-journal");
  const { env } = containerOf("Deployment", "openenv");
  return { command: args, variables: Object.fromEntries(env.map(({ name, value }) => [name, value ?? ""])) };
}

test.skipIf(!component.available).each(TARGETS)(
  "a session continues on another server with the Redis and the variables of %s, also after a restart of the Redis",
  { timeout: 120_000 },
  async (target) => {
    const { command, variables } = readRendered(target);
    const [program, ...args] = command;
    expect(program).toBe("redis-server");
    await using redis = await startRedis(component.path, args, []);
    expect(variables["JOURNAL"]).toMatch(/^redis:\/\/[\w-]+:6379$/);
    // The files name the service. Variables in braces come from the environment of the command that applies them.
    const own = Object.entries(variables).filter(([, value]) => !value.startsWith("$"));
    const env = { ...Object.fromEntries(own), JOURNAL: redis.url, HOST: "127.0.0.1", PORT: "0" };
    await using project = await createProject({ "environment.mjs": WHERE });
    const [one, two] = [await startServer(project, env), await startServer(project, env)];
    await using _one = one.command;
    await using _two = two.command;
    await using gateway = await startGateway(one, "passes");
    await using session = await connect(gateway.url, { resume: true });
    await session.reset();
    expect((await session.step({ amount: 3 })).observation).toMatchObject({ count: 3 });
    gateway.turn("passes", two);
    await one.kill();
    expect(await session.step({ amount: 4 })).toMatchObject({ observation: { count: 7 }, recovered: true });
    await redis.stop();
    const held = session.step({ amount: 5 });
    await redis.start();
    expect((await held).observation).toMatchObject({ count: 12 });
  },
);

async function startServer(project: Project, env: Record<string, string>) {
  const command = startCommand(["serve", "environment.mjs"], { cwd: project.dir, env });
  const [, url = ""] = await command.printed(/at (http:\S+)/);
  return {
    url,
    command,
    async kill(): Promise<void> {
      command.process.kill("SIGKILL");
      await command.exited;
    },
  };
}
