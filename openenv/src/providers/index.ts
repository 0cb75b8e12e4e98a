export { ConfigError, type ErrorCode, OpenEnvError, ProviderError } from "../errors.js";
export type { Acquired, Start } from "./acquired.js";
export { dockerProvider } from "./docker/docker-provider.js";
export type { DockerProviderOptions } from "./docker/options.js";
export { type ProcessProviderOptions, processProvider } from "./process/process-provider.js";
export type { Provider, Started, StartOptions, StartSource, StartSpec } from "./provider.js";
export { startEnvironment } from "./start.js";
export { type UvProviderOptions, uvProvider } from "./uv/uv-provider.js";
