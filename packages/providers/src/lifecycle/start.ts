import { ConfigError, ProviderError } from "openenv-ts";
import { DEFAULT_START_TIMEOUT_MS, type StartedServer, type StartSpec } from "../provider.js";
import { checkSpec } from "./check-options.js";
import { type CleanupStack, createCleanupStack } from "./cleanup-stack.js";
import { createDeadline, type Deadline, settled } from "./deadline.js";
import { waitReady } from "./ready.js";
import type { AcquiredServer, StartContext } from "./start-context.js";

/**
 * Starts an environment for any provider: acquires it, waits until it answers a reset over the WebSocket, and releases
 * it at `close()`. One deadline covers the whole start. When the start fails, everything is released before the error
 * is thrown.
 * @throws ProviderError, or the ConfigError that `acquire` throws.
 */
export async function startEnvironment(
  provider: string,
  spec: StartSpec,
  acquire: (start: StartContext) => Promise<AcquiredServer>,
): Promise<StartedServer> {
  return startServer(provider, spec, acquire, ANSWERS_RESET);
}

/** What a started server must do before it is used. */
export interface Readiness {
  /** Continues the words `while waiting for …`. */
  waiting: string;
  /** Returns the URL that is ready. @throws ProviderError when the server ends, or when the signal is aborted. */
  wait(acquired: AcquiredServer, signal: AbortSignal): Promise<string>;
}

export const ANSWERS_RESET: Readiness = { waiting: "the answer to a reset", wait: waitReady };

/** Does the same as {@link startEnvironment} for another readiness. */
export async function startServer(
  provider: string,
  spec: StartSpec,
  acquire: (start: StartContext) => Promise<AcquiredServer>,
  readiness: Readiness,
): Promise<StartedServer> {
  checkSpec(provider, spec);
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS, signal, onProgress } = spec;
  const deadline = createDeadline(timeoutMs, signal);
  const cleanup = createCleanupStack();
  const attempt: Attempt = { provider, spec, deadline, stage: "beginning", source: undefined, failed: false };
  const progress = (stage: string): void => {
    attempt.stage = stage;
    onProgress?.(stage);
  };
  const running = (source: Pick<AcquiredServer, "logs">): void => {
    attempt.source = source;
  };
  try {
    deadline.signal.throwIfAborted();
    const work = acquire({
      signal: deadline.signal,
      get failed() {
        return attempt.failed;
      },
      onCleanup: cleanup.add,
      progress,
      running,
    });
    const acquired = await endedInTime(work, deadline);
    running(acquired);
    progress(`waiting for ${readiness.waiting}`);
    const url = await readiness.wait(acquired, deadline.signal);
    return createStarted({ ...acquired, url }, { provider, spec, cleanup });
  } catch (error) {
    throw await failStart(error, attempt, cleanup);
  } finally {
    deadline.end();
  }
}

/** The last lines of a log that an error's message shows. */
const SHOWN_LINES = 20;
const MAX_LOG_BYTES = 64 * 1024;
const LOG_WAIT_MS = 3_000;
/** The time that an abandoned `acquire` may take to stop; a cleanup that it registers later runs at once. */
const GIVE_UP_MS = 5_000;

interface Attempt {
  provider: string;
  spec: StartSpec;
  deadline: Deadline;
  stage: string;
  source: Pick<AcquiredServer, "logs"> | undefined;
  failed: boolean;
}

type Ready = AcquiredServer & { url: string };

interface Owned {
  provider: string;
  spec: StartSpec;
  cleanup: CleanupStack;
}

async function endedInTime(work: Promise<AcquiredServer>, deadline: Deadline): Promise<AcquiredServer> {
  try {
    return await deadline.race(work);
  } catch (error) {
    await settled(work, GIVE_UP_MS);
    throw error;
  }
}

function createStarted(acquired: Ready, { provider, spec, cleanup }: Owned): StartedServer {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= cleanup.run().then((failures) => {
      if (failures.length > 0) throw explainCleanup(failures);
    });
    return closing;
  };
  const { ended } = acquired;
  return {
    url: acquired.url,
    ...(ended && {
      ended: async (signal: AbortSignal) => hideSecrets(`${provider}: ${await ended(signal)}`, spec.env),
    }),
    logs: async () => hideSecrets((await acquired.logs()).slice(-MAX_LOG_BYTES), spec.env),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function explainCleanup(failures: readonly Error[]): Error {
  const reasons = failures.map(({ message }) => message).join("; ");
  return new ProviderError(
    "RELEASE_FAILED",
    `Cleanup failed: ${reasons}. \`openenv ps\` lists what is left, \`openenv prune\` removes it.`,
    { cause: failures[0] },
  );
}

/** Reads the log before anything is removed, releases everything, and returns the error. */
async function failStart(error: unknown, attempt: Attempt, cleanup: CleanupStack): Promise<Error> {
  attempt.failed = true;
  const logs = await readLogs(attempt);
  const failures = await cleanup.run();
  if (error instanceof ConfigError && failures.length === 0) return error;
  const { code, message } = explain(error, attempt);
  const shown = logs.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  const text = [
    failures.length > 0 ? `${message} ${explainCleanup(failures).message}` : message,
    ...(shown ? [`The last lines of its log:\n${shown}`] : []),
  ];
  return new ProviderError(code, text.join("\n"), { logs, cause: error });
}

async function readLogs({ source, spec }: Attempt): Promise<string> {
  let logs = "";
  const reading = source?.logs().then((text) => {
    logs = text;
  });
  if (reading) await settled(reading, LOG_WAIT_MS);
  return hideSecrets(logs.slice(-MAX_LOG_BYTES), spec.env);
}

function explain(error: unknown, { provider, deadline, stage }: Attempt): Pick<ProviderError, "code" | "message"> {
  if (deadline.reason === "abort")
    return { code: "ABORTED", message: `The ${provider} start was aborted while ${stage}.` };
  if (deadline.reason === "time") {
    return {
      code: "START_TIMEOUT",
      message: `The ${provider} start timed out after ${deadline.timeoutMs} ms while ${stage}${because(error)}. Increase \`timeoutMs\` if it needs more time.`,
    };
  }
  if (error instanceof ProviderError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return { code: error instanceof ConfigError ? error.code : "START_FAILED", message };
}

/** The last error of a server that never became ready. */
function because(error: unknown): string {
  return error instanceof ProviderError ? ` (${error.message})` : "";
}

/** Wider than isSecretName: a hidden word too many costs nothing, a leaked key does. */
const MAY_BE_SECRET = /token|secret|passw|passphrase|credential|key|auth/i;
/** Shorter values (`1`, `true`) would remove ordinary words from a log. */
const MIN_LENGTH = 6;

/** The text without the values of variables whose names suggest secrets. */
function hideSecrets(text: string, env: Readonly<Record<string, string>> = {}): string {
  let hidden = text;
  for (const [name, value] of Object.entries(env)) {
    if (MAY_BE_SECRET.test(name) && value.length >= MIN_LENGTH) hidden = hidden.replaceAll(value, `<${name}>`);
  }
  return hidden;
}
