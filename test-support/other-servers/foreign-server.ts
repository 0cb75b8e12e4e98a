import { type ScriptedServer, startScriptedServer } from "./scripted-server.js";

const CAPACITY = 4;
const LEAKS_FROM = 21;

/** A small server of another implementation that follows the protocol, except for what `broken` names. */
export function startForeignServer(broken = "nothing"): Promise<ScriptedServer> {
  const action = {
    type: "object",
    properties: { amount: { type: "integer" }, metadata: { type: "object" } },
    required: ["amount"],
  };
  const observation = {
    type: "object",
    properties: {
      total: { type: "integer" },
      ...(broken === "recursion" && { hard: { type: "string", pattern: "^(a+)+$" } }),
    },
  };
  const shared = { total: 0, opened: 0, open: 0 };
  return startScriptedServer(
    async (peer) => {
      if (shared.open >= CAPACITY) {
        const numbers = broken === "capacity" ? {} : { active_sessions: shared.open, max_sessions: CAPACITY };
        const code = broken === "code" ? "FULL" : "CAPACITY_REACHED";
        peer.send({ type: "error", data: { code, message: "full", ...numbers } });
        return peer.socket.close(1000);
      }
      const nth = ++shared.opened;
      const place = ++shared.open;
      void peer.closed.then(() => {
        if (broken !== "nothing_left" || nth < LEAKS_FROM) shared.open--;
      });
      const own = { total: 0 };
      let [episode_id, step_count, resets]: [unknown, number, number] = [null, 0, 0];
      const seen: Record<string, () => number> = {
        reset_resets: () => resets,
        seed_honoured: () => nth,
        workers_agree: () => place,
        other: () => 9,
      };
      const observe = (reward: number | null): void => {
        const total = broken === "schemas_hold" ? "many" : own.total;
        const hard = broken === "recursion" ? { hard: `${"a".repeat(40)}!` } : {};
        const metadata = { note: 1 };
        const shown = { total, seen: (seen[broken] ?? (() => 0))(), ...hard, metadata };
        const frameMetadata = broken === "metadata" ? { note: 2 } : metadata;
        const frame = {
          type: "observation",
          data: { observation: shown, reward, done: false, metadata: frameMetadata },
        };
        if (broken === "binary") peer.socket.send(Buffer.from(JSON.stringify(frame)), { binary: true });
        else if (broken !== "silence") peer.send(broken === "type" ? { ...frame, type: "state" } : frame);
      };
      for (;;) {
        const { type, data = {} } = (await peer.receive()) as { type: string; data?: Record<string, unknown> };
        if (type === "state") {
          peer.send({
            type: "state",
            data: { episode_id, step_count, total: broken === "isolated" ? shared.total : own.total },
          });
        } else if (type === "reset") {
          [episode_id, step_count] = [data["episode_id"] ?? null, 0];
          own.total = shared.total = 0;
          observe(null);
          resets++;
        } else if (type === "step" && broken === "episode") {
          peer.send({ type: "error", data: { code: "EXECUTION_ERROR", message: "no" } });
        } else if (type === "step" && (Number.isInteger(data["amount"]) || broken === "validation")) {
          own.total += Number(data["amount"]);
          shared.total += Number(data["amount"]);
          step_count += broken === "episode_id" ? 2 : 1;
          observe(broken === "rewards" ? null : 1);
        } else if (type === "step") {
          peer.send({ type: "error", data: { code: "VALIDATION_ERROR", message: "Invalid message", errors: [] } });
          if (broken === "bad_input") peer.socket.close();
        }
      }
    },
    {
      "/health": { status: broken === "health_endpoint" ? "ill" : "healthy" },
      "/metadata": broken === "metadata_endpoint" ? { name: 1 } : { name: "foreign_env", description: "Adds up." },
      "/schema": { action, observation, state: broken === "schema_endpoint" ? null : { type: "object" } },
      "/openapi.json": {
        info: broken === "openapi_version_available" ? 1 : { version: "1.0.0" },
        paths: { "/reset": {}, "/step": {}, ...(broken !== "mode_endpoint_consistency" && { "/state": {} }) },
      },
      "/mcp": broken === "mcp_endpoint" ? [] : { jsonrpc: "2.0", id: null },
      ...(broken === "list" && { "/sessions": { toJSON: () => ({ sessions: Array(shared.opened).fill({}) }) } }),
    },
  );
}
