export { ConfigError, type ErrorCode, OpenEnvError, ProviderError } from "../errors.js";
export type { Acquired, Start } from "./acquired.js";
export type { Provider, Started, StartOptions, StartSource, StartSpec } from "./provider.js";
export { startEnvironment } from "./start.js";
