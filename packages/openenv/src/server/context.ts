import type { Backlog } from "#parts/sockets";
import type { ByteBudget, RunQueue } from "#parts/sockets/scheduling";
import type { ServerView } from "../protocol/web.js";
import type { SessionDirectory } from "../session/registry/directory.js";
import type { SessionAddresses } from "../session/registry/session-keeper.js";
import type { Sessions } from "../session/registry/sessions.js";
import type { Runtime } from "../session/runtime.js";
import type { Audit } from "./access/audit.js";
import type { Authorization } from "./access/authorization.js";
import type { Origins } from "./access/origins.js";
import type { Cluster } from "./cluster.js";
import type { Descriptors } from "./limits/descriptors.js";
import type { Gauge } from "./limits/gauge.js";
import type { Plugins } from "./plugins/plugins.js";

export interface WebSettings {
  /** Markdown. */
  readonly readme: string | null;
  /** JSON. */
  readonly report: string | null;
  /** `owner/name` on Hugging Face Spaces. */
  readonly spaceId: string | null;
}

/** What the transports of one server share. */
export interface ServerContext {
  readonly runtime: Runtime;
  readonly sessions: Sessions;
  readonly addresses: SessionAddresses;
  readonly directory: SessionDirectory;
  readonly origins: Origins;
  readonly authorization: Authorization;
  readonly audit: Audit;
  readonly plugins: Plugins;
  readonly maxMessageBytes: number;
  readonly pingIntervalMs: number;
  /** The memory for all HTTP bodies that are being read. */
  readonly bodies: ByteBudget;
  /** The memory for everything that waits on sockets: partial messages, queued frames, answers to slow readers. */
  readonly backlog: Backlog;
  /** Schedules the work of sockets and HTTP in a turn of the event loop. */
  readonly runQueue: RunQueue;
  readonly descriptors: Descriptors;
  /** Name of the deployment that the server belongs to: a health check for another deployment fails. */
  readonly deployment?: string | undefined;
  /** The settings of the web interface; undefined when it is off. */
  readonly web: WebSettings | undefined;
  readonly limits: ServerView["limits"];
  /** The number of tasks that an environment without tasks has for clients of ORS: a seed each. */
  readonly orsSeeds: number;
  readonly gauge: Gauge;
  /** The number of open WebSockets. */
  openSockets: () => number;
  /** The other servers behind the same address. */
  readonly cluster: Cluster | undefined;
  /** What keeps idle streams of clients open, which end when the server stops. */
  readonly streams: Set<{ drain(): void }>;
  /** Addresses of clients that name no session and were logged. */
  readonly unnamed: Set<string>;
  /** The number of HTTP requests being answered. */
  requests: number;
  /** `/health` reports that the server accepts no more sessions; its sessions continue. */
  draining: boolean;
  /** The server is stopping: it accepts nothing new. */
  closing: boolean;
}
