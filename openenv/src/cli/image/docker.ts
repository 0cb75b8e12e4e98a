import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { OpenEnvError, ProviderError } from "../../errors.js";

export interface DockerOptions {
  /** Gets every line of both streams as it comes. */
  onLine?: (line: string) => void;
  /** Ends the command when it is aborted. */
  signal?: AbortSignal;
}

const SHOWN_LINES = 25;
/** More is not kept of an endless output. */
const KEPT_LINES = 200;
const KILL_AFTER_MS = 5_000;
/** What a client without buildx says about itself at every build. */
const CHATTER =
  /^\s*(?:DEPRECATED: The legacy builder|Install the buildx component|https:\/\/docs\.docker\.com\/go\/buildx)/;
const NOT_PULLED =
  /pull access denied|manifest unknown|manifest for .* not found|failed to resolve source metadata|Get "https?:[^"]*\/v2\//;

/**
 * Runs the docker command and resolves with its standard output.
 * @throws ProviderError when there is no docker command, no engine or no right to use it; OpenEnvError BUILD_FAILED with
 * the last lines when the command fails.
 */
export async function runDocker(args: readonly string[], { onLine, signal }: DockerOptions = {}): Promise<string> {
  signal?.throwIfAborted();
  // The plain form is the only one of BuildKit that has lines; the older builder does not know the variable.
  const env = { ...process.env, BUILDKIT_PROGRESS: "plain" };
  const child = spawn("docker", [...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const output: string[] = [];
  const lines: string[] = [];
  const keep = (list: string[], line: string): void => {
    list.push(line);
    if (list.length > KEPT_LINES) list.shift();
  };
  const read = async (stream: Readable, isOutput: boolean): Promise<void> => {
    for await (const line of createInterface({ input: stream })) {
      if (CHATTER.test(line)) continue;
      const text = withoutColours(line);
      keep(lines, text);
      if (isOutput) keep(output, text);
      onLine?.(text);
    }
  };
  const stop = (): void => {
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS).unref();
  };
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const ended = once(child, "close") as Promise<[number | null]>;
    const [[code]] = await Promise.all([ended, read(child.stdout, true), read(child.stderr, false)]);
    signal?.throwIfAborted();
    if (code !== 0) throw describeFailure(lines);
    return output.join("\n").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new ProviderError(
      "PROVIDER_UNAVAILABLE",
      "There is no docker command; install Docker (https://docs.docker.com/get-docker/), or put it on the PATH.",
    );
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

function describeFailure(lines: readonly string[]): OpenEnvError {
  const text = lines.join("\n");
  if (/permission denied while trying to connect|dial unix .*permission denied/i.test(text)) {
    return new ProviderError(
      "PROVIDER_UNAVAILABLE",
      "The Docker engine does not let this user in; add the user to its group (sudo usermod -aG docker $USER) or run it rootless.",
    );
  }
  if (/cannot connect to the docker daemon|error during connect|failed to connect to the docker api/i.test(text)) {
    return new ProviderError("PROVIDER_UNAVAILABLE", "No Docker engine answers; start Docker, or check DOCKER_HOST.");
  }
  if (NOT_PULLED.test(text)) {
    return new OpenEnvError(
      "BUILD_FAILED",
      `A base image of the Dockerfile is not here and cannot be pulled; check its name and the network, or docker login.\n${tail(lines)}`,
    );
  }
  return new OpenEnvError("BUILD_FAILED", `docker build failed:\n${tail(lines)}`);
}

function tail(lines: readonly string[]): string {
  const shown = lines.filter((line) => line.trim() !== "").slice(-SHOWN_LINES);
  return shown.map((line) => `    ${line}`).join("\n");
}

function withoutColours(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours are control characters.
  return line.replaceAll(/\u001b\[[\d;]*m/g, "");
}
