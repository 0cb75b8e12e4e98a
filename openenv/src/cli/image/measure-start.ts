import { startEnvironment } from "../../providers/start.js";
import { runDocker } from "./docker.js";

export interface StartCheck {
  env: Readonly<Record<string, string>>;
  port: number;
  signal: AbortSignal;
}

/** Starts the image once and ends it again; returns the seconds until it answered a reset over its WebSocket. */
export async function measureStart(image: string, { env, port, signal }: StartCheck): Promise<number> {
  const begun = performance.now();
  await using _started = await startEnvironment("docker", { image, env, signal }, async ({ onRelease }) => {
    const variables = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
    const id = await runDocker(["run", "-d", "-p", `127.0.0.1:0:${port}`, ...variables, image]);
    onRelease(async () => void (await runDocker(["rm", "--force", "--volumes", id])));
    const address = (await runDocker(["port", id, String(port)])).split("\n")[0];
    return { url: `http://${address}`, logs: () => runDocker(["logs", id]) };
  });
  return Math.round((performance.now() - begun) / 10) / 100;
}
