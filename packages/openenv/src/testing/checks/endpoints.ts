import { isObject } from "../../util/is-object.js";
import { type CheckDefinition, demand, show } from "../report.js";
import type { JsonResponse } from "./fetch-json.js";

/** What a server tells about itself in `/openapi.json`; `unknown` until it was asked. */
export interface Standard {
  version: string;
  mode: "simulation" | "production" | "unknown";
}

/** What the checks of the HTTP routes need: one request, and where to note what they learn. */
export interface Endpoints {
  ask(path: string, body?: unknown): Promise<JsonResponse>;
  standard: Standard;
}

const SIMULATION = ["/reset", "/step", "/state"] as const;

/** The checks of a running server that every OpenEnv validator makes, with its ids. */
export function endpointChecks(endpoints: Endpoints): CheckDefinition[] {
  let paths: unknown;
  return [
    {
      id: "openapi_version_available",
      description: "GET /openapi.json tells info.version",
      remedy: "Serve an OpenAPI document whose info.version is a text such as 1.0.0.",
      run: async (note) => {
        const { status, body } = await endpoints.ask("/openapi.json");
        const { info, paths: found } = isObject(body) ? body : {};
        const version = isObject(info) ? info["version"] : undefined;
        paths = found;
        note({
          expected: { status_code: 200, "info.version": "string" },
          actual: { status_code: status, "info.version": version ?? null },
        });
        demand(status === 200 && typeof version === "string", `GET /openapi.json answered ${status} ${show(body)}`);
        endpoints.standard.version = version;
      },
    },
    {
      id: "health_endpoint",
      description: "GET /health says healthy",
      remedy: 'Answer 200 and {"status":"healthy"} as soon as requests are taken.',
      run: async (note) => {
        const { status, body } = await endpoints.ask("/health");
        const health = isObject(body) ? body["status"] : undefined;
        note({
          expected: { status_code: 200, status: "healthy" },
          actual: { status_code: status, status: health ?? null },
        });
        demand(status === 200 && health === "healthy", `GET /health answered ${status} ${show(body)}`);
      },
    },
    {
      id: "metadata_endpoint",
      description: "GET /metadata tells name and description",
      remedy: "Give the contract a name and a description.",
      run: async (note) => {
        const { status, body } = await endpoints.ask("/metadata");
        const { name, description } = isObject(body) ? body : {};
        const fits = status === 200 && typeof name === "string" && typeof description === "string";
        note({
          expected: { status_code: 200, fields: ["name", "description"] },
          actual: { status_code: status, name: name ?? null, description: description ?? null },
        });
        demand(fits, `GET /metadata answered ${status} ${show(body)}`);
      },
    },
    {
      id: "schema_endpoint",
      description: "GET /schema tells the schemas of action, observation and state",
      remedy: "Answer one JSON Schema for each of action, observation and state.",
      run: async (note) => {
        const { status, body } = await endpoints.ask("/schema");
        const parts = ["action", "observation", "state"];
        const missing = parts.filter((part) => !isObject(body) || !isObject(body[part]));
        const what = status === 200 ? `has no object ${missing.join(", ")}` : `answered ${status}`;
        note({
          expected: { status_code: 200, fields: parts },
          actual: {
            status_code: status,
            ...Object.fromEntries(parts.map((part) => [`has_${part}`, !missing.includes(part)])),
          },
        });
        demand(status === 200 && missing.length === 0, `GET /schema ${what}`);
      },
    },
    {
      id: "mcp_endpoint",
      description: "POST /mcp speaks JSON-RPC",
      remedy: "Answer every POST with 200 and a JSON-RPC 2.0 object; to {} the error -32600 is right.",
      run: async (note) => {
        const { status, body } = await endpoints.ask("/mcp", {});
        const jsonrpc = isObject(body) ? body["jsonrpc"] : undefined;
        note({
          expected: { status_code: 200, jsonrpc: "2.0" },
          actual: { status_code: status, jsonrpc: jsonrpc ?? null },
        });
        demand(status === 200 && jsonrpc === "2.0", `POST /mcp answered ${status} ${show(body)}`);
      },
    },
    {
      id: "mode_endpoint_consistency",
      description: "/openapi.json has all of /reset, /step and /state, or none of them",
      remedy: "Describe all three in simulation mode, none in production mode.",
      run: async (note) => {
        const known = isObject(paths) ? paths : {};
        if (Object.keys(known).length === 0) {
          note({ expected: { "openapi.paths": "present" }, actual: { "openapi.paths": "missing" } });
          demand(false, "/openapi.json describes no paths, so the mode cannot be told");
        }
        const simulates = "/reset" in known;
        endpoints.standard.mode = simulates ? "simulation" : "production";
        const actual = Object.fromEntries(SIMULATION.map((path) => [path, path in known]));
        const expected = Object.fromEntries(SIMULATION.map((path) => [path, simulates]));
        const present = SIMULATION.filter((path) => path in known);
        note({ expected, actual });
        demand(
          SIMULATION.every((path) => path in known === simulates),
          `only ${present.join(", ")} of ${SIMULATION.join(", ")} are described`,
        );
      },
    },
  ];
}
