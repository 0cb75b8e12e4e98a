export { startFleet } from "./fleet/fleet.js";
export type { FleetOptions } from "./fleet/options.js";
export type { Fleet, Place, Upstream, UpstreamStatus } from "./fleet/types.js";
