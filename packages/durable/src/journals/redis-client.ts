import { ConfigError } from "#core/errors.js";

type Sdk = typeof import("redis");

const CONNECT_MS = 5_000;
/** A connection on which nothing arrives for this long is half-open. */
export const COMMAND_MS = 5_000;
/** The password is missing or wrong, or the user may not use the keys. */
const NOT_ALLOWED = /^(?:NOAUTH|WRONGPASS|NOPERM)\b/;

/**
 * Connects to a Redis; `shown` is its address without the password.
 * @throws ConfigError that names `subject` when it cannot be reached, or the package `redis` is not installed.
 */
export async function connectTo(url: string, subject: string): Promise<{ client: Client; shown: string }> {
  const sdk = await loadRedis();
  const shown = withoutPassword(url);
  const client = await connect(sdk, url).catch((error: unknown) => {
    throw new ConfigError(describeProblem(subject, shown, error as Error), { cause: error });
  });
  return { client, shown };
}

function describeProblem(subject: string, shown: string, { message }: Error): string {
  if (!NOT_ALLOWED.test(message)) {
    return `${subject} must be the address of a Redis that answers, not ${shown}: ${message}`;
  }
  const [scheme] = shown.split("//");
  const setting = "JOURNAL, or in the file that JOURNAL_FILE names";
  return `The Redis at ${shown} needs another user or password (${message}): set ${scheme}//<user>:<password>@<host> in ${setting}.`;
}

export type Client = Awaited<ReturnType<typeof connect>>;

async function connect({ createClient, RESP_TYPES }: Sdk, url: string) {
  const client = createClient({
    url,
    // A command fails at once while Redis is away; the caller repeats it.
    disableOfflineQueue: true,
    pingInterval: COMMAND_MS / 2,
    socket: {
      connectTimeout: CONNECT_MS,
      socketTimeout: COMMAND_MS,
      reconnectStrategy: (tries) => Math.min(50 * 2 ** tries, 2_000),
    },
  });
  let fail = (_error: Error): void => {};
  const refused = new Promise<never>((_, reject) => {
    fail = reject;
  });
  refused.catch(() => {});
  // The commands that fail report any other.
  client.on("error", (error: Error) => {
    if (NOT_ALLOWED.test(error.message)) fail(error);
  });
  try {
    // The client itself would try again for ever.
    await withLimit(Promise.race([client.connect(), refused]), CONNECT_MS);
  } catch (error) {
    client.destroy();
    throw error;
  }
  return client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
}

export function withLimit<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new NoAnswer(`no answer within ${limitMs / 1000} s`)), limitMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The limit of {@link withLimit} has passed. */
export class NoAnswer extends Error {}

function withoutPassword(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return "an address that is not a URL";
  }
}

async function loadRedis(): Promise<Sdk> {
  try {
    return await import("redis");
  } catch (error) {
    throw new ConfigError("A journal in Redis requires another package: npm install redis", { cause: error });
  }
}
