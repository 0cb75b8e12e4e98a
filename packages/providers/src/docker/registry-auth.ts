import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { isObject } from "openenv-ts/internal";
import { configDir, readJson } from "./connection.js";

const HELPER_WAIT_MS = 10_000;
const DOCKER_HUB = "https://index.docker.io/v1/";

/** The value of `X-Registry-Auth` for the image's registry: what `docker login` left there, or nothing. */
export async function registryAuth(
  image: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const registry = registryOf(image);
  const config = readJson(join(configDir(env), "config.json")) ?? {};
  const found = (await askHelper(registry, config)) ?? readStored(registry, config);
  return found && Buffer.from(JSON.stringify({ ...found, serveraddress: registry })).toString("base64url");
}

interface Login {
  username?: string;
  password?: string;
  identitytoken?: string;
}

/** The first part of a name is a registry when it looks like a host. */
function registryOf(image: string): string {
  const [first = "", ...rest] = image.split("/");
  return rest.length > 0 && (/[.:]/.test(first) || first === "localhost") ? first : DOCKER_HUB;
}

function readStored(registry: string, { auths }: Record<string, unknown>): Login | undefined {
  if (!isObject(auths)) return undefined;
  const entry = auths[registry] ?? auths[`https://${registry}`] ?? auths[`https://${registry}/v1/`];
  if (!isObject(entry)) return undefined;
  if (typeof entry["identitytoken"] === "string") return { identitytoken: entry["identitytoken"] };
  const [username, password] = Buffer.from(String(entry["auth"] ?? ""), "base64")
    .toString()
    .split(/:(.*)/s);
  return username && password !== undefined ? { username, password } : undefined;
}

/** Asks the program that the docker command keeps its logins with. */
async function askHelper(registry: string, { credHelpers, credsStore }: Record<string, unknown>) {
  const own = isObject(credHelpers) ? credHelpers[registry] : undefined;
  const helper = own ?? credsStore;
  if (typeof helper !== "string" || !/^[\w-]+$/.test(helper)) return undefined;
  const child = spawn(`docker-credential-${helper}`, ["get"], {
    stdio: ["pipe", "pipe", "ignore"],
    timeout: HELPER_WAIT_MS,
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  child.stdin.on("error", () => {}).end(registry);
  // A helper that is not installed, or has nothing, is no failure: the registry may be open to all.
  const closed = await once(child, "close").catch(() => [1]);
  return closed[0] === 0 ? parseHelper(text) : undefined;
}

function parseHelper(text: string): Login | undefined {
  try {
    const { Username: username, Secret: secret } = JSON.parse(text) as { Username: string; Secret: string };
    return username === "<token>" ? { identitytoken: secret } : { username, password: secret };
  } catch {
    return undefined;
  }
}
