import { ConfigError, ProviderError } from "../../errors.js";
import { settled } from "../../util/async/settled.js";
import { DEFAULT_START_TIMEOUT_MS, type Started, type StartSpec } from "../provider.js";
import type { Acquired, Start } from "./acquired.js";
import { checkSpec } from "./check-options.js";
import { createLimit, type Limit } from "./limit.js";
import { waitReady } from "./ready.js";
import { createReleases, type Releases } from "./releases.js";

/**
 * The one way to start anything: acquire, wait until a reset over the WebSocket is answered, release. One deadline covers
 * the whole start; whatever fails, all that was acquired is released before the error is thrown.
 * @throws ProviderError, or the ConfigError that `acquire` throws.
 */
export async function startEnvironment(
  provider: string,
  spec: StartSpec,
  acquire: (start: Start) => Promise<Acquired>,
): Promise<Started> {
  checkSpec(provider, spec);
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS, signal, onProgress } = spec;
  const limit = createLimit(timeoutMs, signal);
  const releases = createReleases();
  const attempt: Attempt = { provider, spec, limit, stage: "beginning", source: undefined, failed: false };
  const progress = (stage: string): void => {
    attempt.stage = stage;
    onProgress?.(stage);
  };
  const running = (source: Pick<Acquired, "logs">): void => {
    attempt.source = source;
  };
  try {
    limit.signal.throwIfAborted();
    const work = acquire({
      signal: limit.signal,
      get failed() {
        return attempt.failed;
      },
      onRelease: releases.add,
      progress,
      running,
    });
    const acquired = await endedInTime(work, limit);
    running(acquired);
    progress("waiting for the answer to a reset");
    const url = await waitReady(acquired, limit.signal);
    return createStarted({ ...acquired, url }, { provider, spec, releases });
  } catch (error) {
    throw await failStart(error, attempt, releases);
  } finally {
    limit.end();
  }
}

/** The last lines of a log that an error's message shows. */
const SHOWN_LINES = 20;
const MAX_LOG_BYTES = 64 * 1024;
const LOG_WAIT_MS = 3_000;
/** How long an `acquire` may take to notice that it was given up; what it registers later is released at once. */
const GIVE_UP_MS = 5_000;

interface Attempt {
  provider: string;
  spec: StartSpec;
  limit: Limit;
  stage: string;
  source: Pick<Acquired, "logs"> | undefined;
  failed: boolean;
}

type Ready = Acquired & { url: string };

interface Owned {
  provider: string;
  spec: StartSpec;
  releases: Releases;
}

async function endedInTime(work: Promise<Acquired>, limit: Limit): Promise<Acquired> {
  try {
    return await limit.race(work);
  } catch (error) {
    await settled(work, GIVE_UP_MS);
    throw error;
  }
}

function createStarted(acquired: Ready, { provider, spec, releases }: Owned): Started {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= releases.run().then((failures) => {
      if (failures.length > 0) throw leftOver(failures);
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

function leftOver(failures: readonly Error[]): Error {
  const reasons = failures.map(({ message }) => message).join("; ");
  return new ProviderError(
    "RELEASE_FAILED",
    `Not everything could be removed: ${reasons}. \`openenv ps\` shows what is left, \`openenv prune\` removes it.`,
    { cause: failures[0] },
  );
}

/** Reads the log before anything is removed, releases, and says what happened. */
async function failStart(error: unknown, attempt: Attempt, releases: Releases): Promise<Error> {
  attempt.failed = true;
  const logs = await readLogs(attempt);
  const failures = await releases.run();
  if (error instanceof ConfigError && failures.length === 0) return error;
  const { code, message } = explain(error, attempt);
  const shown = logs.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  const text = [
    failures.length > 0 ? `${message} ${leftOver(failures).message}` : message,
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

function explain(error: unknown, { provider, limit, stage }: Attempt): Pick<ProviderError, "code" | "message"> {
  if (limit.reason === "abort")
    return { code: "ABORTED", message: `The ${provider} start was aborted while ${stage}.` };
  if (limit.reason === "time") {
    return {
      code: "START_TIMEOUT",
      message: `The ${provider} start took longer than ${limit.timeoutMs} ms: it ended while ${stage}${because(error)}. Raise \`timeoutMs\` if it only needs longer.`,
    };
  }
  if (error instanceof ProviderError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return { code: error instanceof ConfigError ? error.code : "START_FAILED", message };
}

/** What was last seen of a server that never became ready. */
function because(error: unknown): string {
  return error instanceof ProviderError ? ` (${error.message})` : "";
}

/** More than is a secret for sure (isSecretName): a word too many that is hidden costs nothing, a key that is shown does. */
const MAY_BE_SECRET = /token|secret|passw|passphrase|credential|key|auth/i;
/** Shorter values (`1`, `true`) would take ordinary words out of a log. */
const LEAST_LENGTH = 6;

/** The text without the values of variables that are secrets by their name. */
function hideSecrets(text: string, env: Readonly<Record<string, string>> = {}): string {
  let hidden = text;
  for (const [name, value] of Object.entries(env)) {
    if (MAY_BE_SECRET.test(name) && value.length >= LEAST_LENGTH) hidden = hidden.replaceAll(value, `<${name}>`);
  }
  return hidden;
}
