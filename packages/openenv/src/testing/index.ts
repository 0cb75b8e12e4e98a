export { checkEnvironment } from "./check-environment.js";
export { checkServer, type ServerReport } from "./check-server.js";
export { openResources } from "./open-resources.js";
export { type Check, type CheckReport, renderCheckReport } from "./report.js";
