import { toMcpServer, toolsFromMcp } from "openenv-ts/mcp";

export const bridge = toMcpServer;
export const remote = await toolsFromMcp({ url: "http://localhost:8001/mcp" });
export const session = remote.open();
