import { OpenEnvError } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { Principal, SessionOpener } from "../../session/attachable-session.js";
import type { SessionHooks } from "../../session/restore/session-hooks.js";
import type { Runtime } from "../../session/runtime.js";
import type { Session } from "../../session/session.js";
import { shortenSessionId } from "../../session/session-info.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { startCounts } from "../../session/statistics/metrics.js";
import { isThenable } from "../../util/async/thenable.js";
import type { Log } from "../../util/log.js";
import type { MaybePromise } from "../../util/types.js";
import { handleOf } from "../access/session-handle.js";
import { readTable, type Variables } from "../config/read-settings.js";
import { copyJson, HookCaller, isRefusal, refusalData, startPart } from "./hook.js";
import type {
  AuthorizeRequest,
  Opener,
  PlayedSession,
  PluginAnswer,
  PluginHooks,
  PluginRefusal,
  ServerHandle,
  ServerPlugin,
  SessionHandle,
} from "./plugin.js";
import { type Hooked, joinHooks } from "./session-hooks.js";

interface PluginParts {
  runtime: Runtime;
  variables: Variables;
  /** The number of this worker. */
  worker: number;
  sessions(): Iterable<Session>;
  open(opener: SessionOpener): Session | Promise<Session>;
  /** Sends a message to the central part of a plugin, which may be in another process. */
  ask(plugin: string, message: unknown): Promise<PluginRefusal | { answer: unknown }>;
}

interface Mounted {
  plugin: ServerPlugin;
  server: ServerHandle;
  caller: HookCaller;
}

/** The plugins of a server in one process. Without a plugin for it, a hook is undefined, and costs nothing. */
export class Plugins {
  /** Undefined if no plugin decides who may come in. */
  readonly authorize: ((request: AuthorizeRequest) => MaybePromise<Principal | PluginRefusal | undefined>) | undefined;
  /** Undefined if no plugin decides who may open sessions. @throws SessionRejectedError, or rejects with it. */
  readonly admit: ((opener: SessionOpener) => MaybePromise<(() => void) | undefined>) | undefined;
  /** Undefined if no plugin follows sessions. */
  readonly hooksFor: ((session: Session, opener: SessionOpener) => SessionHooks | undefined) | undefined;
  readonly mounted: readonly Mounted[];
  readonly #stopping = new AbortController();

  /** @throws ConfigError for a setting of a plugin that is not allowed. */
  constructor(plugins: readonly ServerPlugin[], parts: PluginParts) {
    this.mounted = plugins.map((plugin) => this.#mount(plugin, parts));
    const having = (hook: keyof ServerPlugin): Mounted[] => this.mounted.filter(({ plugin }) => plugin[hook]);
    const [deciding, admitting, following] = [having("authorize"), having("admit"), having("session")];
    if (deciding.length > 0) this.authorize = (request) => authorizeWith(deciding, request);
    if (admitting.length > 0) this.admit = (opener) => admitWith(admitting, openerOf(opener));
    if (following.length > 0) this.hooksFor = (session, opener) => follow(following, session, openerOf(opener));
  }

  #mount(plugin: ServerPlugin, { runtime, variables, worker, sessions, open, ask }: PluginParts): Mounted {
    const { name } = plugin;
    const log = named(runtime.log, name);
    const caller = new HookCaller(name, runtime.log);
    const server: ServerHandle = {
      environment: runtime.definition.contract.name,
      contract: runtime.definition.contract,
      mode: runtime.mode,
      worker,
      settings: readTable(name, plugin.settings ?? {}, variables),
      metrics: startCounts(plugin.metrics ?? {}),
      log,
      signal: this.#stopping.signal,
      sessions: () => [...sessions()].map((session) => new Handle(session)),
      exemplify(ms, labels) {
        runtime.statistics.counts.openenv_step_duration_seconds.exemplar = { labels, ms, at: Date.now() };
      },
      open: (principal) => openPlayed(open, principal),
      async ask(message) {
        const given = await caller.call("central", () => ask(name, copyJson(message)));
        if (isRefusal(given)) throw new OpenEnvError(given.code, given.message);
        return given?.answer;
      },
    };
    return { plugin, server, caller };
  }

  /** Starts them in their order; those that were started stop when the result is disposed of. @throws ConfigError. */
  async start(addEnd: (end: () => unknown) => void): Promise<void> {
    try {
      for (const { plugin, server, caller } of this.mounted) {
        const started = await startPart(plugin.name, () => plugin.start?.(server));
        if (started) addEnd(() => caller.call("stop", () => started[Symbol.asyncDispose]()));
      }
    } finally {
      addEnd(() => this.#stopping.abort());
    }
  }
}

function openerOf({ client, principal, isRestored = false, traceparent }: SessionOpener): Opener {
  return { client, principal, isRestored, traceparent };
}

/** The first plugin that knows the peer decides. */
function authorizeWith(
  deciding: readonly Mounted[],
  request: AuthorizeRequest,
  from = 0,
): MaybePromise<Principal | PluginRefusal | undefined> {
  for (let index = from; index < deciding.length; index++) {
    const { plugin, server, caller } = deciding[index] as Mounted;
    const decided = caller.call("authorize", () => plugin.authorize?.(request, server));
    if (isThenable(decided)) return decided.then((late) => late ?? authorizeWith(deciding, request, index + 1));
    if (decided !== undefined) return decided;
  }
  return undefined;
}

/** All plugins must admit a peer, but for a session that was open before. What they hold for it is released together. */
function admitWith(admitting: readonly Mounted[], opener: Opener): MaybePromise<() => void> {
  const held: (() => void)[] = [];
  const release = (): void => {
    for (const end of held.splice(0)) end();
  };
  const take = ({ caller }: Mounted, given: PluginRefusal | Disposable | undefined): void => {
    if (isRefusal(given)) {
      if (opener.isRestored) return;
      release();
      throw new SessionRejectedError(refusalData(given));
    }
    if (given !== undefined) held.push(() => void caller.call("dispose", () => given[Symbol.dispose]()));
  };
  const admit = (from: number): MaybePromise<() => void> => {
    for (let index = from; index < admitting.length; index++) {
      const mounted = admitting[index] as Mounted;
      const given = mounted.caller.call("admit", () => mounted.plugin.admit?.(opener, mounted.server));
      if (isThenable(given)) {
        return given.then((late) => {
          take(mounted, late);
          return admit(index + 1);
        });
      }
      take(mounted, given);
    }
    return release;
  };
  return admit(0);
}

function follow(following: readonly Mounted[], session: Session, opener: Opener): SessionHooks | undefined {
  const handle = new Handle(session);
  const all: Hooked[] = [];
  for (const { plugin, server, caller } of following) {
    const hooks = caller.call("session", () => plugin.session?.(handle, opener, server));
    if (isRefusal(hooks)) {
      joinHooks(session, all)?.ended?.(hooks.message);
      throw new SessionRejectedError(refusalData(hooks));
    }
    if (hooks !== undefined) all.push({ hooks: hooks as PluginHooks, caller });
  }
  return joinHooks(session, all);
}

async function openPlayed(open: PluginParts["open"], principal?: Principal): Promise<PlayedSession> {
  try {
    return new Played(await open({ client: "plugin", orchestrator: true, principal }));
  } catch (error) {
    if (!(error instanceof SessionRejectedError)) throw error;
    throw new OpenEnvError(error.data.code, error.data.message, { cause: error });
  }
}

/** An open session, as plugins see it. */
class Handle implements SessionHandle {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  get id(): string {
    return this.#session.id;
  }

  get label(): string {
    return shortenSessionId(this.id);
  }

  get handle(): string {
    return handleOf(this.#session);
  }

  get client(): Opener["client"] {
    return this.#session.client;
  }

  get principal(): Principal | undefined {
    return this.#session.principal;
  }

  get createdAt(): number {
    return this.#session.createdAt;
  }

  get episodeId(): string | null {
    return this.#session.progress.episodeId;
  }

  get steps(): number {
    return this.#session.progress.stepCount;
  }

  get reward(): number {
    return this.#session.progress.reward;
  }

  get done(): boolean {
    return this.#session.progress.done;
  }

  get busyMs(): number | null {
    const since = this.#session.busySince;
    return since === null ? null : performance.now() - since;
  }

  end(reason: string): void {
    this.#session.lose(reason);
  }
}

class Played extends Handle implements PlayedSession {
  readonly #session: Session;

  constructor(session: Session) {
    super(session);
    this.#session = session;
  }

  async play({ type, request }: Parameters<PlayedSession["play"]>[0]): Promise<PluginAnswer> {
    const { name, arguments: given = {} } = request as { name?: string; arguments?: JsonObject };
    const options = { orchestrator: true };
    if (type === "tool") return await this.#session.callTool({ name: String(name), given }, options);
    return (await this.#session.call({ type, data: request }, options)) as PluginAnswer;
  }
}

/** The log with the name of the plugin in each line. */
function named(log: Log, plugin: string): Log {
  const write = (level: keyof Log) => (fields: object, message: string) => log[level]({ ...fields, plugin }, message);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
