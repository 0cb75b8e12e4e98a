import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as z from "zod";
import type { ServerContext } from "../context.js";
import type { Handler } from "../http/router.js";

type GatewayParts = typeof import("./parts.js");

/** What `@openenv-ts/gateway` serves. */
interface Gateway {
  /** The routes of ORS, and those of the Task API for clients of ORS. */
  ors: Handler;
  /** What `/openapi.json` lists of it. */
  orsRoutes: readonly GatewayRoute[];
}

/** A route as `/openapi.json` describes it. */
export interface GatewayRoute {
  method: "get" | "post";
  /** The path, with `{env_name}` in place of the name of the environment. */
  path: string;
  summary: string;
  /** Requests name their session in the header `X-Session-ID`. */
  ofSession: boolean;
  body?: z.ZodType;
  /** Undefined for a stream of events. */
  answer?: z.ZodType;
}

/** The package, which gets the server instead of importing it. */
export interface GatewayModule {
  createGateway(context: ServerContext, parts: GatewayParts): Gateway;
}

const PACKAGE: string = "@openenv-ts/gateway";
/** The answer to a request for a standard whose package is missing. */
export const NOT_INSTALLED = `This server speaks ORS with the package ${PACKAGE}, which is not installed: npm install ${PACKAGE}`;

/** Loads the package for a server; undefined if it is not installed. */
export async function loadGateway(context: ServerContext): Promise<Gateway | undefined> {
  const module = await importPackage();
  return module?.createGateway(context, await import("./parts.js"));
}

/** The package next to this one, or that of the program or folder that serves. */
async function importPackage(): Promise<GatewayModule | undefined> {
  try {
    return (await import(PACKAGE)) as GatewayModule;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  for (const from of [process.argv[1], join(process.cwd(), "package.json")]) {
    try {
      if (from) return (await import(pathToFileURL(createRequire(from).resolve(PACKAGE)).href)) as GatewayModule;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return undefined;
}

function isMissing(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
}
