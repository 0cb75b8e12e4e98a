export { toMcpServer } from "./to-mcp-server.js";
export { type RemoteToolSession, type RemoteTools, toolsFromMcp } from "./tools-from-mcp.js";
