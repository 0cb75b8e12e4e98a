import { isObject } from "../../util/is-object.js";
import { type CheckDefinition, demand, show } from "../report.js";
import type { JsonResponse } from "./fetch-json.js";

/** What a server publishes in `/openapi.json`; `unknown` until it was read. */
export interface Standard {
  version: string;
  mode: "simulation" | "production" | "unknown";
}

/** What the checks of the HTTP routes need: a function for requests, and a place for what they find. */
export interface Endpoints {
  ask(path: string, body?: unknown): Promise<JsonResponse>;
  standard: Standard;
}

type Ask = Endpoints["ask"];

const SIMULATION = ["/reset", "/step", "/state"] as const;

/** The checks of a running server that every OpenEnv validator makes, with their ids. */
export function endpointChecks({ ask, standard }: Endpoints): CheckDefinition[] {
  const document: { paths?: unknown } = {};
  return [
    checkVersion(ask, standard, document),
    checkHealth(ask),
    checkMetadata(ask),
    checkSchema(ask),
    checkMcp(ask),
    checkMode(standard, document),
  ];
}

/** Keeps the paths of the document for {@link checkMode}. */
function checkVersion(ask: Ask, standard: Standard, document: { paths?: unknown }): CheckDefinition {
  return {
    id: "openapi_version_available",
    description: "GET /openapi.json returns info.version",
    remedy: "Serve an OpenAPI document whose info.version is a string such as 1.0.0.",
    run: async (note) => {
      const { status, body } = await ask("/openapi.json");
      const { info, paths } = isObject(body) ? body : {};
      const version = isObject(info) ? info["version"] : undefined;
      document.paths = paths;
      note({
        expected: { status_code: 200, "info.version": "string" },
        actual: { status_code: status, "info.version": version ?? null },
      });
      demand(status === 200 && typeof version === "string", `GET /openapi.json answered ${status} ${show(body)}`);
      standard.version = version;
    },
  };
}

function checkHealth(ask: Ask): CheckDefinition {
  return {
    id: "health_endpoint",
    description: "GET /health returns healthy",
    remedy: 'Return 200 and {"status":"healthy"} as soon as the server accepts requests.',
    run: async (note) => {
      const { status, body } = await ask("/health");
      const health = isObject(body) ? body["status"] : undefined;
      note({
        expected: { status_code: 200, status: "healthy" },
        actual: { status_code: status, status: health ?? null },
      });
      demand(status === 200 && health === "healthy", `GET /health answered ${status} ${show(body)}`);
    },
  };
}

function checkMetadata(ask: Ask): CheckDefinition {
  return {
    id: "metadata_endpoint",
    description: "GET /metadata returns name and description",
    remedy: "Give the contract a name and a description.",
    run: async (note) => {
      const { status, body } = await ask("/metadata");
      const { name, description } = isObject(body) ? body : {};
      const fits = status === 200 && typeof name === "string" && typeof description === "string";
      note({
        expected: { status_code: 200, fields: ["name", "description"] },
        actual: { status_code: status, name: name ?? null, description: description ?? null },
      });
      demand(fits, `GET /metadata answered ${status} ${show(body)}`);
    },
  };
}

function checkSchema(ask: Ask): CheckDefinition {
  return {
    id: "schema_endpoint",
    description: "GET /schema returns the schemas of action, observation and state",
    remedy: "Return one JSON Schema each for action, observation and state.",
    run: async (note) => {
      const { status, body } = await ask("/schema");
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
  };
}

function checkMcp(ask: Ask): CheckDefinition {
  return {
    id: "mcp_endpoint",
    description: "POST /mcp speaks JSON-RPC",
    remedy: "Answer every POST with 200 and a JSON-RPC 2.0 object; for {} return the error -32600.",
    run: async (note) => {
      const { status, body } = await ask("/mcp", {});
      const jsonrpc = isObject(body) ? body["jsonrpc"] : undefined;
      note({
        expected: { status_code: 200, jsonrpc: "2.0" },
        actual: { status_code: status, jsonrpc: jsonrpc ?? null },
      });
      demand(status === 200 && jsonrpc === "2.0", `POST /mcp answered ${status} ${show(body)}`);
    },
  };
}

function checkMode(standard: Standard, document: { paths?: unknown }): CheckDefinition {
  return {
    id: "mode_endpoint_consistency",
    description: "/openapi.json has all of /reset, /step and /state, or none of them",
    remedy: "Describe all three in simulation mode, none in production mode.",
    run: async (note) => {
      const known = isObject(document.paths) ? document.paths : {};
      if (Object.keys(known).length === 0) {
        note({ expected: { "openapi.paths": "present" }, actual: { "openapi.paths": "missing" } });
        demand(false, "/openapi.json has no paths, so the mode is unknown");
      }
      const simulates = "/reset" in known;
      standard.mode = simulates ? "simulation" : "production";
      const actual = Object.fromEntries(SIMULATION.map((path) => [path, path in known]));
      const expected = Object.fromEntries(SIMULATION.map((path) => [path, simulates]));
      const present = SIMULATION.filter((path) => path in known);
      note({ expected, actual });
      demand(
        SIMULATION.every((path) => path in known === simulates),
        `only ${present.join(", ")} of ${SIMULATION.join(", ")} are described`,
      );
    },
  };
}
