export { type CheckEnvironmentOptions, checkEnvironment } from "./check-environment.js";
export { type CheckServerOptions, checkServer, type ServerReport } from "./check-server.js";
export { type Check, type CheckReport, renderCheckReport } from "./report.js";
