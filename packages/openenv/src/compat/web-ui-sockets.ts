import type { Holder, PeerSocket, SocketPeer, Upgrade, UpgradeRequest } from "#parts/sockets";
import { CLOSE_CODES } from "../protocol/messages.js";
import { selectSubprotocol } from "../server/access/authorization.js";
import type { ServerContext } from "../server/context.js";
import { sessionCookieHeader } from "../server/http/http-session.js";
import { cookieId } from "../server/http/session-key.js";
import type { SocketRoute } from "../server/websocket/socket-target.js";
import { OVER_HTTP, type Principal } from "../session/attachable-session.js";
import type { Session } from "../session/session.js";
import type { SessionRejectedError } from "../session/session-rejected-error.js";
import { type Subscriber, webUiOf } from "./web-ui-session.js";

/** The maximum number of pages that subscribe to one session. */
const MAX_SUBSCRIBERS = 16;
/** The largest frame of a page; its content is ignored. */
const MAX_FRAME = 64 * 1024;
/** A page with more unread updates is closed, bytes. */
const MAX_BUFFERED = 4 * 1024 * 1024;
/** The same while the backlog of all connections is full. */
const FULL_MAX_BUFFERED = 64 * 1024;
/** A page that reads none of its updates is closed after this many ping intervals. */
const STALLED_PINGS = 3;

/** WebSocket `/ws/ui`: sends each change of the visitor's episode to a page. */
export class WebUiSockets implements SocketRoute {
  readonly path = "/ws/ui";
  readonly #context: ServerContext;
  readonly #pages = new Set<Page>();

  constructor(context: ServerContext) {
    this.#context = context;
  }

  sessionId(request: UpgradeRequest): string | null {
    return cookieId(request.headers) ?? null;
  }

  /** A visitor without a session gets a new one, as with a first reset. */
  async upgrade(upgrade: Upgrade, principal: Principal | undefined): Promise<void> {
    const { request } = upgrade;
    const session = await this.#findSession(request, principal).catch((refusal: SessionRejectedError) => refusal);
    if (session instanceof Error) return upgrade.reject("503 Service Unavailable", session.message);
    if (webUiOf(session).subscribers.size >= MAX_SUBSCRIBERS) {
      return upgrade.reject("503 Service Unavailable", "too many pages are open for this session");
    }
    upgrade.accept({
      headers: { "set-cookie": sessionCookieHeader(request, session) },
      protocol: selectSubprotocol(request.headers),
      maxBytes: MAX_FRAME,
      open: (ws) => this.#subscribe(ws, session),
    });
  }

  get open(): number {
    return this.#pages.size;
  }

  drain(): void {
    for (const page of this.#pages) page.close("the server is shutting down", CLOSE_CODES.restart);
  }

  terminate(): void {
    for (const page of this.#pages) page.terminate();
  }

  async #findSession(request: UpgradeRequest, principal: Principal | undefined): Promise<Session> {
    const { sessions } = this.#context;
    const id = cookieId(request.headers);
    const known = id === undefined ? undefined : sessions.named.find(id);
    if (known !== undefined) return known;
    const session = await sessions.openNamed({ ...OVER_HTTP, principal });
    sessions.markUnclaimed(session);
    return session;
  }

  #subscribe(ws: PeerSocket, session: Session): void {
    const webUi = webUiOf(session);
    const page = new Page(ws, this.#context, () => {
      webUi.subscribers.delete(page);
      this.#pages.delete(page);
    });
    this.#pages.add(page);
    ws.peer = page;
    if (session.state === "ready") webUi.subscribe(page);
    else page.close("the session has ended");
  }
}

/** The backlog is charged for the unread updates of a page. What a page sends is ignored. */
class Page implements Subscriber, Holder, SocketPeer {
  heldBytes = 0;
  readonly #ws: PeerSocket;
  readonly #context: ServerContext;
  readonly #onGone: () => void;
  readonly #pings: NodeJS.Timeout;
  #isAnswered = true;
  #isGone = false;
  #awaitsDrain = false;
  /** The bytes that stay in memory after it was shed. */
  #kept = 0;

  constructor(ws: PeerSocket, context: ServerContext, onGone: () => void) {
    this.#ws = ws;
    this.#context = context;
    this.#onGone = onGone;
    this.#pings = setInterval(() => this.#ping(), context.pingIntervalMs);
    this.#pings.unref();
    context.backlog.join(this);
  }

  send(update: string): void {
    const { backlog, pingIntervalMs } = this.#context;
    if (this.#ws.untaken > (backlog.isFull ? FULL_MAX_BUFFERED : MAX_BUFFERED)) return this.shed();
    this.#ws.send(update);
    this.#charge();
    if (this.heldBytes >= FULL_MAX_BUFFERED && !this.#awaitsDrain) {
      this.#awaitsDrain = true;
      this.#ws.awaitDrain(STALLED_PINGS * pingIntervalMs);
    }
    backlog.relieve();
  }

  close(reason: string, code: number = CLOSE_CODES.sessionEnded): void {
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  shed(): void {
    this.#ws.terminate();
    this.#kept = this.#context.backlog.keep(this.#ws);
    this.#leave();
  }

  receive(): void {}

  pinged(payload: Buffer): void {
    this.#ws.pong(payload);
  }

  ponged(): void {
    this.#isAnswered = true;
  }

  drained(): void {
    this.#awaitsDrain = false;
    this.#charge();
  }

  stalled(): void {
    this.#ws.terminate();
  }

  grew(): void {}

  gone(): void {
    this.#context.backlog.forget(this.#kept);
    this.#kept = 0;
    this.#leave();
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearInterval(this.#pings);
    this.#charge();
    this.#context.backlog.leave(this);
    this.#onGone();
  }

  #charge(): void {
    const untaken = this.#isGone ? 0 : this.#ws.untaken;
    this.#context.backlog.hold(untaken - this.heldBytes);
    this.heldBytes = untaken;
  }

  #ping(): void {
    this.#charge();
    if (this.#ws.bytesRead === undefined) return;
    if (!this.#isAnswered) return this.#ws.terminate();
    this.#isAnswered = !this.#ws.ping();
  }
}
