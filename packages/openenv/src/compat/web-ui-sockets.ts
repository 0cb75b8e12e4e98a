import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { CLOSE_CODES } from "../protocol/messages.js";
import { selectSubprotocol } from "../server/access/authorization.js";
import type { ServerContext } from "../server/context.js";
import { cookieSession, sessionCookieHeader } from "../server/http/http-session.js";
import type { Backlog, Holder } from "../server/limits/backlog.js";
import { rejectUpgrade } from "../server/websocket/reject-upgrade.js";
import type { SocketRoute } from "../server/websocket/socket-server.js";
import type { Session } from "../session/session.js";
import type { SessionRejectedError } from "../session/session-rejected-error.js";
import { type Subscriber, webUiObserver, webUiOf } from "./web-ui-session.js";

/** Pages that may subscribe to one session. */
const MAX_SUBSCRIBERS = 16;
/** Nothing that a page sends is read. */
const MAX_FRAME = 64 * 1024;
/** A page that leaves more updates untaken is closed, bytes. */
const MAX_BUFFERED = 4 * 1024 * 1024;
/** The same when the backlog of all connections is full. */
const FULL_MAX_BUFFERED = 64 * 1024;

/** WebSocket `/ws/ui`: sends a page each change of the visitor's episode. */
export class WebUiSockets implements SocketRoute {
  readonly path = "/ws/ui";
  readonly #context: ServerContext;
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME,
    handleProtocols: selectSubprotocol,
  });

  constructor(context: ServerContext) {
    this.#context = context;
  }

  sessionId(request: IncomingMessage): string | null {
    return cookieSession(request) ?? null;
  }

  /** A visitor without a session gets one, as with a first reset. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    const session = await this.#findSession(request).catch((refusal: SessionRejectedError) => refusal);
    if (session instanceof Error) return rejectUpgrade(socket, "503 Service Unavailable", session.message);
    if (webUiOf(session).subscribers.size >= MAX_SUBSCRIBERS) {
      return rejectUpgrade(socket, "503 Service Unavailable", "too many pages watch this session");
    }
    const setCookie = (headers: string[]): void => {
      headers.push(`Set-Cookie: ${sessionCookieHeader(request, session)}`);
    };
    // `handleUpgrade` emits it before it returns, unless the request is not valid.
    this.#server.once("headers", setCookie);
    this.#server.handleUpgrade(request, socket, head, (ws) => this.#subscribe(ws, session));
    this.#server.off("headers", setCookie);
  }

  get open(): number {
    return this.#server.clients.size;
  }

  drain(): void {
    for (const ws of this.#server.clients) ws.close(CLOSE_CODES.restart, "the server is shutting down");
  }

  terminate(): void {
    for (const ws of this.#server.clients) ws.terminate();
  }

  async #findSession(request: IncomingMessage): Promise<Session> {
    const { sessions } = this.#context;
    const id = cookieSession(request);
    const known = id === undefined ? undefined : sessions.named.find(id);
    if (known !== undefined) return known;
    const session = await sessions.openNamed();
    sessions.markUnclaimed(session);
    return session;
  }

  #subscribe(ws: WebSocket, session: Session): void {
    const { backlog, pingIntervalMs, sessions } = this.#context;
    sessions.observer = webUiObserver;
    const page = new Page(ws, backlog);
    const webUi = webUiOf(session);
    let isAnswered = true;
    const pings = setInterval(() => {
      if (!isAnswered) return ws.terminate();
      isAnswered = false;
      ws.ping();
    }, pingIntervalMs);
    pings.unref();
    ws.on("pong", () => {
      isAnswered = true;
    });
    ws.on("error", () => {});
    ws.on("close", () => {
      clearInterval(pings);
      webUi.subscribers.delete(page);
      page.release();
    });
    if (session.state === "ready") webUi.subscribe(page);
    else page.close("the session has ended");
  }
}

/** What a page has not taken is charged to the backlog. */
class Page implements Subscriber, Holder {
  heldBytes = 0;
  readonly #ws: WebSocket;
  readonly #backlog: Backlog;
  readonly #charge = (): void => {
    const untaken = this.#ws.readyState === this.#ws.OPEN ? this.#ws.bufferedAmount : 0;
    this.#backlog.hold(untaken - this.heldBytes);
    this.heldBytes = untaken;
  };

  constructor(ws: WebSocket, backlog: Backlog) {
    this.#ws = ws;
    this.#backlog = backlog;
    backlog.join(this);
  }

  send(update: string): void {
    if (this.#ws.bufferedAmount > (this.#backlog.isFull ? FULL_MAX_BUFFERED : MAX_BUFFERED)) return this.shed();
    // A string that waits is held twice: the system call has its own copy.
    this.#ws.send(Buffer.from(update), { binary: false }, this.#charge);
    this.#charge();
    this.#backlog.relieve();
  }

  close(reason: string): void {
    this.#ws.close(CLOSE_CODES.sessionEnded, reason);
  }

  shed(): void {
    this.#ws.terminate();
    this.#charge();
  }

  release(): void {
    this.#charge();
    this.#backlog.leave(this);
  }
}
