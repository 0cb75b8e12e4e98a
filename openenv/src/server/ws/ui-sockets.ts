import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { CLOSE_CODES } from "../../protocol/messages.js";
import type { Holder } from "../backlog.js";
import type { ServerContext } from "../context.js";
import { cookieSession, sessionCookieHeader } from "../http/http-session.js";
import type { Watcher } from "../http/web/visit.js";
import { visitOf } from "../http/web/visitor.js";
import { Refusal } from "../refusal.js";
import { selectSubprotocol } from "../rights.js";
import type { Session } from "../session.js";
import { refuseUpgrade } from "./refuse-upgrade.js";

/** Pages that may watch one session. */
const MAX_WATCHERS = 16;
/** Nothing that a page sends is read. */
const MAX_FRAME = 64 * 1024;
/** A page that takes its frames no faster is left behind, bytes. */
const MAX_BUFFERED = 4 * 1024 * 1024;
/** The same when the backlog of all connections is full. */
const FULL_MAX_BUFFERED = 64 * 1024;

/** WebSocket `/ws/ui`: tells a page every change of its visitor's episode, and takes nothing. */
export class UiSockets {
  readonly #context: ServerContext;
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME,
    handleProtocols: selectSubprotocol,
  });
  readonly #cookies = new WeakMap<IncomingMessage, string>();
  readonly #unheard = new WeakSet<WebSocket>();
  readonly #timer: NodeJS.Timeout;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#server.on("headers", (headers, request) => {
      const cookie = this.#cookies.get(request);
      if (cookie !== undefined) headers.push(`Set-Cookie: ${cookie}`);
    });
    this.#timer = setInterval(() => this.#ping(), context.pingIntervalMs);
    this.#timer.unref();
  }

  get open(): number {
    return this.#server.clients.size;
  }

  /** A visitor without a session gets one, as with a first reset. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (socket.destroyed) return;
    const gone = (): void => void socket.destroy();
    socket.on("error", gone);
    try {
      if (this.#context.closing) {
        return refuseUpgrade(socket, "503 Service Unavailable", "the server is shutting down");
      }
      const session = await this.#sessionOf(request);
      if (socket.destroyed) return;
      if (visitOf(session).watchers >= MAX_WATCHERS) {
        return refuseUpgrade(socket, "503 Service Unavailable", "too many pages watch this session");
      }
      socket.removeListener("error", gone);
      this.#cookies.set(request, sessionCookieHeader(request, session));
      this.#server.handleUpgrade(request, socket, head, (ws) => this.#watch(ws, session));
    } catch (error) {
      const isRefusal = error instanceof Refusal;
      if (!isRefusal) this.#context.runtime.log.error({ err: error }, "a page could not be let in");
      const reason = isRefusal ? error.message : "the server failed";
      refuseUpgrade(socket, isRefusal ? "503 Service Unavailable" : "500 Internal Server Error", reason);
    }
  }

  goAway(): void {
    clearInterval(this.#timer);
    for (const ws of this.#server.clients) ws.close(CLOSE_CODES.restart, "the server is shutting down");
  }

  cut(): void {
    for (const ws of this.#server.clients) ws.terminate();
  }

  async #sessionOf(request: IncomingMessage): Promise<Session> {
    const { sessions } = this.#context;
    const id = cookieSession(request);
    const known = id === undefined ? undefined : sessions.named.find(id);
    if (known !== undefined) return known;
    const session = await sessions.openNamed();
    sessions.markUnclaimed(session);
    return session;
  }

  #watch(ws: WebSocket, session: Session): void {
    const visit = visitOf(session);
    const { backlog } = this.#context;
    let held = 0;
    /** Charges what the page has not taken by now. */
    const charge = (): void => {
      const untaken = ws.readyState === ws.OPEN ? ws.bufferedAmount : 0;
      backlog.hold(untaken - held);
      held = untaken;
    };
    const holder: Holder = {
      get heldBytes() {
        return held;
      },
      shed() {
        ws.terminate();
        charge();
      },
    };
    const watcher: Watcher = {
      tell: (text) => {
        if (ws.bufferedAmount > (backlog.isFull ? FULL_MAX_BUFFERED : MAX_BUFFERED)) return holder.shed("");
        // What waits as a string is held twice: the system call has its own copy.
        ws.send(Buffer.from(text), { binary: false }, charge);
        charge();
        backlog.join(holder);
        backlog.relieve();
      },
      end: (reason) => ws.close(CLOSE_CODES.sessionEnded, reason),
    };
    ws.on("error", () => {});
    ws.on("pong", () => this.#unheard.delete(ws));
    ws.on("close", () => {
      visit.leave(watcher);
      charge();
      backlog.leave(holder);
    });
    if (session.state === "ready") visit.watch(watcher);
    else watcher.end("the session has ended");
  }

  #ping(): void {
    for (const ws of this.#server.clients) {
      if (this.#unheard.has(ws)) ws.terminate();
      this.#unheard.add(ws);
      ws.ping();
    }
  }
}
