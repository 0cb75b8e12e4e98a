import type { Route } from "../http/router.js";
import type { SocketRoute } from "../websocket/socket-target.js";

/** What a server mounts in one list: a group of its own routes, a part, another standard, or the plugins. */
export interface Mount {
  /** Its routes, by path. */
  readonly routes?: Readonly<Record<string, Route>>;
  /** Its routes by the last segment of a path with two, `/<environment>/<name>`. */
  readonly below?: Readonly<Record<string, Route>>;
  /** Its routes by the last segment of `/sessions/<id>/<name>`. */
  readonly ofSession?: Readonly<Record<string, Route>>;
  /** Returns the route of a path that no table has. */
  find?(path: string): Route | undefined;
  readonly sockets?: readonly SocketRoute[];
}
