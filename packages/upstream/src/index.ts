export { startFleet } from "./fleet/fleet.js";
export type { FleetOptions } from "./fleet/options.js";
export type { Fleet, Upstream, UpstreamPlace, UpstreamStatus } from "./fleet/types.js";
export { serveUpstreams, type UpstreamOptions } from "./serve-upstreams.js";
