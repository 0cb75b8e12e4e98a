import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "openenv-ts";
import { isObject } from "openenv-ts/internal";

/** Where a container engine listens. Plain data: the reaper gets it as JSON. */
export interface EngineAddress {
  /** The address as a user writes it: `unix:///var/run/docker.sock`, `tcp://host:2376`. */
  name: string;
  socketPath?: string;
  host?: string;
  port?: number;
  tls?: { ca?: string; cert?: string; key?: string; rejectUnauthorized: boolean };
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Finds the engine as the docker command does: `DOCKER_HOST`, else the context (`DOCKER_CONTEXT`, or the one that
 * `docker context use` chose), else the socket of this machine or of this user's rootless engine.
 * @throws ConfigError for an invalid address, a context that does not exist, or SSH.
 */
export function findEngine(env: Variables): EngineAddress {
  const { DOCKER_HOST: host, DOCKER_TLS_VERIFY: verify, DOCKER_CERT_PATH: certificates } = env;
  if (host) return parseAddress(host, verify ? (certificates ?? configDir(env)) : undefined, true);
  const context = env["DOCKER_CONTEXT"] || currentContext(env);
  if (context && context !== "default") return readContext(context, env);
  return parseAddress(LOCAL.map((place) => place(env)).find(exists) ?? DEFAULT_ADDRESS, undefined, true);
}

const DEFAULT_ADDRESS = process.platform === "win32" ? "npipe:////./pipe/docker_engine" : "unix:///var/run/docker.sock";
/** The engine of the machine, the rootless engines of the user (Docker and Podman), Docker Desktop. */
const LOCAL: readonly ((env: Variables) => string)[] = [
  () => DEFAULT_ADDRESS,
  (env) => `unix://${env["XDG_RUNTIME_DIR"]}/docker.sock`,
  (env) => `unix://${env["XDG_RUNTIME_DIR"]}/podman/podman.sock`,
  () => `unix://${join(homedir(), ".docker/run/docker.sock")}`,
];

function exists(address: string): boolean {
  return existsSync(address.replace(/^\w+:\/\//, ""));
}

/** The docker command's folder. */
export function configDir(env: Variables): string {
  return env["DOCKER_CONFIG"] || join(homedir(), ".docker");
}

function parseAddress(text: string, certificates: string | undefined, verify: boolean): EngineAddress {
  const [, scheme, rest = ""] = /^(\w+):\/\/(.+)$/.exec(text) ?? [];
  if (scheme === "unix" || scheme === "npipe") return { name: text, socketPath: rest };
  const url = (scheme === "tcp" || scheme === "http" || scheme === "https") && `http://${rest}`;
  if (!url || !URL.canParse(url)) {
    throw new ConfigError(
      `The engine address ${text} is not supported. Use unix://, npipe:// or tcp://${scheme === "ssh" ? "; for SSH, forward the socket (ssh -L) and use that" : ""}.`,
    );
  }
  const { hostname, port } = new URL(url);
  const secure = certificates !== undefined || scheme === "https";
  const address = { name: text, host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (secure ? 2376 : 2375)) };
  return secure ? { ...address, tls: readCertificates(certificates, verify) } : address;
}

function readCertificates(dir: string | undefined, verify: boolean): NonNullable<EngineAddress["tls"]> {
  const read = (name: string): string | undefined => {
    const file = join(dir ?? "", name);
    return dir && existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };
  const [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(read);
  return { rejectUnauthorized: verify, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

function currentContext(env: Variables): string | undefined {
  const config = readJson(join(configDir(env), "config.json"));
  const name = config?.["currentContext"];
  return typeof name === "string" ? name : undefined;
}

function readContext(name: string, env: Variables): EngineAddress {
  const id = createHash("sha256").update(name).digest("hex");
  const contexts = join(configDir(env), "contexts");
  const endpoints = readJson(join(contexts, "meta", id, "meta.json"))?.["Endpoints"];
  const endpoint = isObject(endpoints) ? endpoints["docker"] : undefined;
  if (!isObject(endpoint) || typeof endpoint["Host"] !== "string") {
    throw new ConfigError(`There is no docker context "${name}". \`docker context ls\` lists the contexts.`);
  }
  const certificates = join(contexts, "tls", id, "docker");
  return parseAddress(
    endpoint["Host"],
    existsSync(certificates) ? certificates : undefined,
    endpoint["SkipTLSVerify"] !== true,
  );
}

/** Returns undefined when the file is missing or does not hold a JSON object. */
export function readJson(file: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
