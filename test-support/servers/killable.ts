import { type Project, type Running, startCommand } from "../commands/command-line.js";

export interface Served extends AsyncDisposable {
  url: string;
  command: Running;
  /** Sends a signal to all processes of the server. Resolves when it has ended, if it ends. */
  signal(name: NodeJS.Signals): Promise<unknown>;
}

/** Serves `environment.mjs` of a project at a port with the built command line; its processes can be killed together. */
export async function serveProject(project: Project, port: number, env: Record<string, string>): Promise<Served> {
  const options = { cwd: project.dir, env: { MAX_CONCURRENT_ENVS: "64", ...env }, detached: true };
  const command = startCommand(["serve", "environment.mjs", "--port", String(port)], options);
  const [, url = ""] = await command.printed(/at (http:\S+)/);
  const send = (name: NodeJS.Signals): void => {
    try {
      process.kill(-(command.process.pid ?? 0), name);
    } catch {}
  };
  return {
    url,
    command,
    signal: (name) => {
      send(name);
      return command.exited;
    },
    async [Symbol.asyncDispose]() {
      send("SIGKILL");
      await command.exited;
    },
  };
}
