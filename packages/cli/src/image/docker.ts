import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { ProviderError } from "openenv-ts";
import { OpenEnvError } from "openenv-ts/client";

export interface DockerOptions {
  /** Called for every line of both streams. */
  onLine?: (line: string) => void;
  /** Ends the command when it is aborted. */
  signal?: AbortSignal | undefined;
  /** Milliseconds; default no limit. */
  timeoutMs?: number;
  /** Also returns the lines of standard error, in order of arrival. */
  withErrors?: boolean;
}

const SHOWN_LINES = 25;
/** Limits on the kept output. */
const KEPT_LINES = 200;
const KEPT_CHARACTERS = 16 * 1024;
const KILL_AFTER_MS = 5_000;
/** The notice that a client without buildx prints at every build. */
const BUILDX_NOTICE =
  /^\s*(?:DEPRECATED: The legacy builder|Install the buildx component|https:\/\/docs\.docker\.com\/go\/buildx)/;
/** Advice for common build failures, by docker's message. */
const BUILD_ADVICE: readonly { pattern: RegExp; advice: string }[] = [
  {
    pattern:
      /pull access denied|manifest unknown|manifest for .* not found|failed to resolve source metadata|Get "https?:[^"]*\/v2\//,
    advice:
      "A base image of the Dockerfile is not available locally and cannot be pulled; check its name and the network, or run docker login.",
  },
  {
    pattern: /npm: (?:command )?not found|exec: "npm": executable file not found/,
    advice: "The build image of the Dockerfile has no npm; use one with npm: --build-arg BUILD_BASE=<image>.",
  },
];

/**
 * Runs the docker command and resolves with the last lines of its standard output.
 * @throws ProviderError PROVIDER_UNAVAILABLE without a docker command, without an engine or without permission to use it;
 * OpenEnvError BUILD_FAILED when a build fails, ProviderError START_FAILED when another command fails, both with the last
 * lines of the output.
 */
export async function runDocker(args: readonly string[], options: DockerOptions = {}): Promise<string> {
  const { onLine, signal, timeoutMs, withErrors = false } = options;
  signal?.throwIfAborted();
  const limit = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, limit].filter((one) => one !== undefined));
  // BuildKit prints plain lines only in this mode; the legacy builder ignores the variable.
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
      if (BUILDX_NOTICE.test(line)) continue;
      const text = withoutColours(line.slice(0, KEPT_CHARACTERS));
      keep(lines, text);
      if (isOutput) keep(output, text);
      onLine?.(text);
    }
  };
  const stop = (): void => {
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS).unref();
  };
  ended.addEventListener("abort", stop, { once: true });
  try {
    const closed = once(child, "close") as Promise<[number | null]>;
    const [[code]] = await Promise.all([closed, read(child.stdout, true), read(child.stderr, false)]);
    signal?.throwIfAborted();
    if (limit?.aborted) throw failed(args, `took longer than ${timeoutMs} ms`, lines);
    if (code !== 0) throw describeFailure(args, lines);
    return (withErrors ? lines : output).join("\n").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new ProviderError(
      "PROVIDER_UNAVAILABLE",
      "docker command not found; install Docker (https://docs.docker.com/get-docker/) or add it to the PATH.",
    );
  } finally {
    ended.removeEventListener("abort", stop);
  }
}

const ENGINE_TIMEOUT_MS = 5_000;

/** True when a Docker engine is available to the docker command. */
export async function hasEngine(signal: AbortSignal): Promise<boolean> {
  const version = runDocker(["version", "--format", "{{.Server.Version}}"], { timeoutMs: ENGINE_TIMEOUT_MS, signal });
  return version.then(
    () => true,
    () => false,
  );
}

function describeFailure(args: readonly string[], lines: readonly string[]): OpenEnvError {
  const text = lines.join("\n");
  if (/permission denied while trying to connect|dial unix .*permission denied/i.test(text)) {
    return new ProviderError(
      "PROVIDER_UNAVAILABLE",
      "This user has no permission to use the Docker engine; add the user to its group (sudo usermod -aG docker $USER) or run Docker rootless.",
    );
  }
  if (/cannot connect to the docker daemon|error during connect|failed to connect to the docker api/i.test(text)) {
    return new ProviderError(
      "PROVIDER_UNAVAILABLE",
      "Cannot connect to a Docker engine; start Docker, or check DOCKER_HOST.",
    );
  }
  const known = args[0] === "build" ? BUILD_ADVICE.find(({ pattern }) => pattern.test(text)) : undefined;
  if (known) return new OpenEnvError("BUILD_FAILED", `${known.advice}\n${tail(lines)}`);
  return failed(args, "failed", lines);
}

function failed([command]: readonly string[], how: string, lines: readonly string[]): OpenEnvError {
  const message = `docker ${command} ${how}:\n${tail(lines)}`;
  if (command === "build") return new OpenEnvError("BUILD_FAILED", message);
  return new ProviderError("START_FAILED", message, { logs: lines.join("\n") });
}

function tail(lines: readonly string[]): string {
  const shown = lines.filter((line) => line.trim() !== "").slice(-SHOWN_LINES);
  return shown.map((line) => `    ${line}`).join("\n");
}

function withoutColours(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI colors are control characters.
  return line.replaceAll(/\u001b\[[\d;]*m/g, "");
}
