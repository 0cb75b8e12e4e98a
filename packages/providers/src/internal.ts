/** Exports for the packages of this repository, which may change at any time. */
export { checkImage } from "./docker/image.js";
export { renderLabels } from "./docker/labels.js";
export { findSpace } from "./hub/find-space.js";
export { hubEndpoint, hubTokenFile, readHubToken } from "./hub/hub-account.js";
export { isSpaceId, spaceOfPage, spaceSubdomain } from "./hub/space-id.js";
export { makeRemovable } from "./lifecycle/make-removable.js";
export type { Readiness } from "./lifecycle/start.js";
export { listOrphans } from "./orphans/list-orphans.js";
export type { Orphan } from "./orphans/orphan.js";
export { isAlive } from "./orphans/owner.js";
export { checkCommand, startCommand } from "./process/command-provider.js";
export { signalGroup } from "./process/group.js";
export type { ProcessExit } from "./process/launch.js";
export { checkOut } from "./repository/checkout.js";
export { isGitUrl, parseGitUrl } from "./repository/git-source.js";
