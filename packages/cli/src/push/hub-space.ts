import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hubEndpoint } from "@openenv-ts/providers/internal";
import { isObject } from "openenv-ts/internal";
import { createHubRepository, type HubLogin, type HubRepository, type UploadOptions } from "./hub-repository.js";
import type { StagedSpace } from "./stage-space.js";

/** Changes one Space. Every method throws HubError. */
export interface HubSpace extends Pick<HubRepository, "create"> {
  setVariable(key: string, value: string): Promise<void>;
  setSecret(key: string, value: string): Promise<void>;
  requestHardware(flavor: string): Promise<void>;
  /** Commits all files in one commit, or opens a pull request with them and returns its URL. */
  upload(staged: StagedSpace, options: Omit<UploadOptions, "title">): Promise<string | undefined>;
}

export function createHubSpace(id: string, login: HubLogin): HubSpace {
  const { attempt, create, upload } = createHubRepository("space", id, login);

  /** Uses the HTTP API, because the library has no function for the settings of a Space. */
  async function set(what: string, body: object): Promise<void> {
    const response = await fetch(`${hubEndpoint()}/api/spaces/${id}/${what}`, {
      method: "POST",
      headers: { authorization: `Bearer ${login.token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: login.signal,
    });
    if (response.ok) return void (await response.arrayBuffer());
    const { HubApiError } = await import("@huggingface/hub");
    throw new HubApiError(response.url, response.status, undefined, await readReason(response));
  }

  return {
    create,
    setVariable: (key, value) => attempt(`set the variable ${key}`, () => set("variables", { key, value })),
    setSecret: (key, value) => attempt(`set the secret ${key}`, () => set("secrets", { key, value }), [value]),
    requestHardware: (flavor) => attempt(`get the hardware ${flavor}`, () => set("hardware", { flavor })),
    upload: ({ dir, paths }, options) => {
      const files = paths.map((path) => ({ path, content: pathToFileURL(join(dir, path)) }));
      return upload(files, { ...options, title: "Publish with openenv push" });
    },
  };
}

async function readReason(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const body: unknown = JSON.parse(text);
    if (isObject(body)) return String(body["error"] ?? body["message"] ?? response.statusText);
  } catch {
    // The body is not JSON: an error page of a proxy.
  }
  return response.statusText;
}
