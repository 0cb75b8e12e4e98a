import { ConfigError } from "#core/errors.js";
import { hasEnded } from "#core/server/sqlite/owner.js";
import {
  epochLost,
  hasEndedBefore,
  isElsewhere,
  type Journal,
  type JournalEntry,
  JournalError,
  type JournalReader,
  type JournalRecord,
  type JournalTaker,
  unavailable,
} from "./journal.js";
import { type Client, COMMAND_MS, connectTo, NoAnswer, withLimit } from "./redis-client.js";

/** What a script is called with. */
type Argument = string | Buffer;

/** The prefix of the names of all keys. */
const PREFIX = "openenv:journal:";
const IDS = `${PREFIX}ids`;
/** The processes that take sessions over. The lease of each has its version. */
const TAKERS = `${PREFIX}takers`;
/** The time that the sessions of a server that does not answer any more belong to it. */
const LEASE_MS = 10_000;
const RENEW_MS = LEASE_MS / 4;

/**
 * A session is a hash: its cells, and `#token`, `#epoch`, `#owner`, `#ended`, and `#commit`, the number of its last commit
 * in this epoch: one that failed and was repeated may arrive after the next ones, from a connection that was lost. Each
 * script runs as one step. A full Redis refuses a script only at its first write, so one that adds something must not
 * delete before.
 */
const IS_OWN = `if redis.call('HGET', KEYS[1], '#epoch') ~= ARGV[1] or redis.call('HEXISTS', KEYS[1], '#ended') == 1 then return 0 end`;
const SCRIPTS = {
  create: `local before = redis.call('HGET', KEYS[1], '#epoch')
if before and redis.call('HEXISTS', KEYS[1], '#ended') == 0 then return 0 end
local epoch = (before or 0) + 1
redis.call('HSET', KEYS[1], '#epoch', epoch, '#token', ARGV[1], '#owner', ARGV[2])
redis.call('HDEL', KEYS[1], '#ended', '#commit')
redis.call('SADD', KEYS[2], ARGV[3])
return epoch`,
  commit: `${IS_OWN}
if tonumber(redis.call('HGET', KEYS[1], '#commit') or 0) >= tonumber(ARGV[2]) then return 1 end
local puts = tonumber(ARGV[3])
redis.call('HSET', KEYS[1], '#commit', ARGV[2])
for i = 4, 3 + 2 * puts, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
for i = 4 + 2 * puts, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
return 1`,
  release: `${IS_OWN}
return redis.call('HDEL', KEYS[1], '#owner')`,
  end: `${IS_OWN}
local token = redis.call('HGET', KEYS[1], '#token')
redis.call('DEL', KEYS[1])
return redis.call('HSET', KEYS[1], '#epoch', ARGV[1], '#token', token, '#ended', ARGV[2])`,
  takeOver: `local epoch = redis.call('HGET', KEYS[1], '#epoch')
if not epoch or redis.call('HEXISTS', KEYS[1], '#ended') == 1 then return false end
local owner = redis.call('HGET', KEYS[1], '#owner')
if owner and owner ~= ARGV[1] and owner ~= ARGV[2] and redis.call('EXISTS', ARGV[3] .. owner) == 1 then return 0 end
redis.call('HINCRBY', KEYS[1], '#epoch', 1)
redis.call('HSET', KEYS[1], '#owner', ARGV[1])
redis.call('HDEL', KEYS[1], '#commit')
return redis.call('HGETALL', KEYS[1])`,
  remove: `local ended = redis.call('HGET', KEYS[1], '#ended')
if ended and cjson.decode(ended).at >= tonumber(ARGV[1]) then return 0 end
if not ended and redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('SREM', KEYS[2], ARGV[2])`,
};

/**
 * A journal that the servers of many machines share. A server owns its sessions by a lease that it renews. Not for Redis
 * Cluster. What Redis loses in a failover is lost.
 * @throws ConfigError when the server cannot be reached or deletes sessions when it is full, or the package `redis` is not installed.
 */
export async function openRedisJournal({ url, owner, version = "" }: RedisOptions): Promise<Journal> {
  const journal = await openAs(url, owner, "JOURNAL");
  try {
    await journal.checkPolicy();
    return await journal.start(version);
  } catch (error) {
    await journal.close();
    throw error;
  }
}

interface RedisOptions {
  url: string;
  owner: string;
  /** See {@link JournalTaker}. */
  version?: string;
}

/** Reads a journal in Redis without a lease. @throws ConfigError as above. */
export function readRedisJournal(url: string): Promise<JournalReader> {
  return openAs(url, "", "The journal");
}

async function openAs(url: string, owner: string, subject: string): Promise<RedisJournal> {
  const { client, shown } = await connectTo(url, subject);
  return new RedisJournal(client, shown, owner);
}

class RedisJournal implements Journal {
  readonly #client: Client;
  readonly #url: string;
  readonly #owner: string;
  onWanted: ((id: string) => void) | undefined;
  /** Receives what {@link takeOver} of other servers asks for. */
  #subscriber: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The number of commits that this process has sent, which is the number of the last one. */
  #commits = 0;

  constructor(client: Client, url: string, owner: string) {
    this.#client = client;
    this.#url = url;
    this.#owner = owner;
  }

  /** @throws ConfigError. Where the setting cannot be read, nothing is checked. */
  async checkPolicy(): Promise<void> {
    const names = ["maxmemory", "maxmemory-policy"];
    const settings: Record<string, unknown> = await this.#client.configGet(names).catch(() => ({}));
    const [limit, policy] = names.map((name) => String(settings[name] ?? ""));
    // Other policies delete only keys with a time limit, which are the leases.
    if (limit === "0" || !policy?.startsWith("allkeys-")) return;
    const message = `JOURNAL ${this.#url} deletes sessions when it is full: set its maxmemory-policy to noeviction, not ${policy}.`;
    throw new ConfigError(message);
  }

  async start(version: string): Promise<this> {
    const renew = (): Promise<unknown> =>
      this.#ask(() => this.#client.set(leaseKey(this.#owner), version, { PX: LEASE_MS }));
    await renew();
    await this.#ask(() => this.#client.sAdd(TAKERS, this.#owner));
    // Its lease ends soon when Redis was away for long.
    this.#client.on("ready", () => void renew().catch(() => {}));
    const subscriber = this.#client.duplicate();
    subscriber.on("error", () => {});
    await this.#ask(() => subscriber.connect());
    await this.#ask(() => subscriber.subscribe(leaseKey(this.#owner), (id) => this.onWanted?.(String(id))));
    this.#subscriber = subscriber;
    this.#timer = setInterval(() => {
      withLimit(renew(), COMMAND_MS).catch((error) => error instanceof NoAnswer && this.#reconnect());
    }, RENEW_MS).unref();
    return this;
  }

  async create(id: string, tokenHash: string): Promise<number> {
    const epoch = Number(await this.#run("create", [keyOf(id), IDS], [tokenHash, this.#owner, id]));
    if (epoch === 0) throw isElsewhere(id);
    return epoch;
  }

  async find(id: string): Promise<JournalEntry | undefined> {
    const names = ["#epoch", "#token", "#owner", "#ended"];
    const values = await this.#ask(() => this.#client.hmGet(keyOf(id), names));
    return toEntry(id, new Map(names.map((name, i) => [name, values[i] as Buffer | null])));
  }

  async isHeld({ owner, ended }: JournalEntry): Promise<boolean> {
    if (ended !== null || owner === null || hasEnded(owner) === true) return false;
    return owner === this.#owner || (await this.#ask(() => this.#client.exists(leaseKey(owner)))) === 1;
  }

  async takeOver(id: string) {
    const before = await this.find(id);
    // When it is seen that the process has ended, its lease is not awaited.
    const gone = before?.owner && hasEnded(before.owner) === true ? before.owner : "";
    const answer = await this.#run("takeOver", [keyOf(id)], [this.#owner, gone, leaseKey("")]);
    if (answer === null) return undefined;
    if (!Array.isArray(answer)) {
      // The client tries again, and may find the session released.
      if (before?.owner) await this.#ask(() => this.#client.publish(leaseKey(String(before.owner)), id));
      throw isElsewhere(id);
    }
    const fields = new Map<string, Buffer>();
    for (let i = 0; i < answer.length; i += 2) fields.set(String(answer[i]), answer[i + 1] as Buffer);
    return toRecord(id, fields);
  }

  async commit(id: string, epoch: number, { put, remove }: Parameters<Journal["commit"]>[2]): Promise<void> {
    const cells = put.flatMap(([name, value]) => [name, Buffer.from(value)]);
    const numbers = [epoch, ++this.#commits, put.length].map(String);
    const done = await this.#run("commit", [keyOf(id)], [...numbers, ...cells, ...remove]);
    if (done === 0) throw epochLost(id, epoch);
  }

  async takers(): Promise<readonly JournalTaker[]> {
    await this.#ask(() => this.#client.sRem(TAKERS, this.#owner));
    const owners = (await this.#ask(() => this.#client.sMembers(TAKERS))).map(String);
    const running: JournalTaker[] = [];
    for (const owner of owners) {
      const version = hasEnded(owner) ? null : await this.#ask(() => this.#client.get(leaseKey(owner)));
      if (version !== null) running.push({ owner, version: String(version) });
      else await this.#ask(() => this.#client.sRem(TAKERS, owner));
    }
    return running;
  }

  async release(id: string, epoch: number): Promise<void> {
    await this.#run("release", [keyOf(id)], [String(epoch)]);
  }

  async end(id: string, epoch: number, reason: string): Promise<void> {
    await this.#run("end", [keyOf(id)], [String(epoch), JSON.stringify({ at: Date.now(), reason })]);
  }

  async list(): Promise<JournalEntry[]> {
    const ids = await this.#ask(() => this.#client.sMembers(IDS));
    const found = await Promise.all(ids.map((id) => this.find(String(id))));
    return found.filter((entry) => entry !== undefined);
  }

  async read(id: string): Promise<JournalRecord | undefined> {
    const fields = await this.#ask(() => this.#client.hGetAll(keyOf(id)));
    return toRecord(id, new Map(Object.entries(fields)));
  }

  async removeEnded(listed: readonly JournalEntry[], before: number): Promise<void> {
    const old = listed.filter((entry) => hasEndedBefore(entry, before));
    await Promise.all(old.map(({ id }) => this.#run("remove", [keyOf(id), IDS], [String(before), id])));
  }

  /** The limit of the socket does not end a half-open connection to which commands are still written. */
  #reconnect(): void {
    if (this.#timer === undefined) return;
    this.#client.destroy();
    this.#client.connect().catch(() => {});
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#subscriber !== undefined) {
      await this.#client.sRem(TAKERS, this.#owner).catch(() => {});
      await this.#client.del(leaseKey(this.#owner)).catch(() => {});
    }
    this.#subscriber?.destroy();
    this.#client.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #run(name: keyof typeof SCRIPTS, keys: string[], args: Argument[]): Promise<unknown> {
    return this.#ask(() => this.#client.eval(SCRIPTS[name], { keys, arguments: args as string[] }));
  }

  async #ask<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      throw error instanceof JournalError ? error : unavailable(this.#url, error);
    }
  }
}

function keyOf(id: string): string {
  return `${PREFIX}session:${id}`;
}

function leaseKey(owner: string): string {
  return `${PREFIX}lease:${owner}`;
}

function toEntry(id: string, fields: ReadonlyMap<string, Buffer | null>): JournalEntry | undefined {
  const text = (name: string): string | null => fields.get(name)?.toString() ?? null;
  const [epoch, tokenHash, ended] = [text("#epoch"), text("#token"), text("#ended")];
  if (epoch === null || tokenHash === null) return undefined;
  return {
    id,
    tokenHash,
    epoch: Number(epoch),
    owner: text("#owner"),
    ended: ended === null ? null : JSON.parse(ended),
  };
}

function toRecord(id: string, fields: ReadonlyMap<string, Buffer>): JournalRecord | undefined {
  const entry = toEntry(id, fields);
  return entry && { ...entry, cells: new Map([...fields].filter(([name]) => !name.startsWith("#"))) };
}
