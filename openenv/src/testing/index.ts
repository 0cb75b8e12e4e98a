export { type CheckEnvironmentOptions, checkEnvironment } from "./check-environment.js";
export { type CheckProviderOptions, checkProvider } from "./check-provider.js";
export { type CheckServerOptions, checkServer } from "./check-server.js";
export { type Check, type CheckReport, renderCheckReport } from "./report.js";
