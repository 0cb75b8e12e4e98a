import type { GatewayModule } from "openenv-ts/internal";

type Create = GatewayModule["createGateway"];
export type Gateway = ReturnType<Create>;
export type HostRoute = Gateway["orsRoutes"][number];
export type HostRequest = Parameters<Gateway["ors"]>[0];
export type HostContext = Parameters<Create>[0];
export type GatewayParts = Parameters<Create>[1];
export type HostSession = Awaited<ReturnType<HostContext["sessions"]["open"]>>;
export type HostError = Parameters<GatewayParts["sendFailure"]>[1];
export type HostContent = ReturnType<GatewayParts["renderContent"]>[number];

/** The server, and the parts of it that standards are made of. */
export interface Host {
  readonly context: HostContext;
  readonly parts: GatewayParts;
}
