import { expect, test } from "vitest";
import { callCommand, createProject } from "../../../test-support/commands/command-line.js";
import { useServers } from "../../../test-support/servers/servers.js";

const { start } = useServers();

test("commands send OPENENV_TOKEN to a server that asks for a client's token", { timeout: 120_000 }, async () => {
  await using project = await createProject();
  const server = await start({ clientToken: "letmein" });
  const run = (args: string[], env: Record<string, string>) => callCommand(args, { cwd: project.dir, env });
  for (const args of [
    ["schema", "show", server.url],
    ["collect", server.url, "-n", "1", "--max-steps", "2"],
  ]) {
    const refused = await run(args, { OPENENV_TOKEN: "" });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("401");
    expect(await run(args, { OPENENV_TOKEN: "letmein" })).toMatchObject({ code: 0, stderr: "" });
  }
});
