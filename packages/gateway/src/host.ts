import type { GatewayParts, ServerContext } from "openenv-ts/internal";

/** The server, and the parts of it that standards are made of. */
export interface Host {
  readonly context: ServerContext;
  readonly parts: GatewayParts;
}
