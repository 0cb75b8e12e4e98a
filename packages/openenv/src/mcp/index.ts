export { type McpServerOptions, toMcpServer } from "./to-mcp-server.js";
export {
  type McpSource,
  type RemoteToolSession,
  type RemoteTools,
  type RemoteToolsOptions,
  toolsFromMcp,
} from "./tools-from-mcp.js";
