/** Requests to the API server of a real control plane. */
import { execFile } from "node:child_process";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

/** The parts of an object that every kind has. */
export interface ClusterObject {
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
  };
}

export interface ClusterEvent<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T;
}

class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class ClusterApi {
  readonly #server: string;
  readonly #token: string;

  constructor(server: string, token: string) {
    this.#server = server;
    this.#token = token;
  }

  /** What a container gets, so that it finds the API server. The certificate of that is not signed. */
  get variables(): Record<string, string> {
    const { hostname, port } = new URL(this.#server);
    const where = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    return { ...where, NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  }

  /** The API server that a kubectl speaks to. */
  static async of(kubectl: string): Promise<ClusterApi> {
    const { stdout } = await promisify(execFile)(kubectl, ["config", "view", "--raw", "--minify", "-o", "json"]);
    const { clusters, users } = JSON.parse(stdout) as {
      clusters: [{ cluster: { server: string } }];
      users: [{ user: { token: string } }];
    };
    return new ClusterApi(clusters[0].cluster.server, users[0].user.token);
  }

  /** @throws ApiError when the answer is no success. */
  async ask<T = ClusterObject>(method: string, path: string, body?: object): Promise<T> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const response = await this.#send(method, path, body && { type, text: JSON.stringify(body) });
    let text = "";
    for await (const part of response.setEncoding("utf8")) text += part as string;
    const status = response.statusCode ?? 0;
    if (status >= 300) throw new ApiError(status, `${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  /** The same; undefined when the object does not exist (any more). */
  async find<T = ClusterObject>(method: string, path: string, body?: object): Promise<T | undefined> {
    try {
      return await this.ask<T>(method, path, body);
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return undefined;
      throw error;
    }
  }

  async list<T extends ClusterObject>(path: string): Promise<T[]> {
    return (await this.ask<{ items: T[] }>("GET", path)).items;
  }

  /** Calls `onEvent` for all objects of a path, and for each change, until the signal aborts. */
  async watch<T>(path: string, signal: AbortSignal, onEvent: (event: ClusterEvent<T>) => void): Promise<void> {
    while (!signal.aborted) {
      try {
        const query = `${path.includes("?") ? "&" : "?"}watch=true&timeoutSeconds=120`;
        const response = await this.#send("GET", path + query, undefined, signal);
        for await (const line of createInterface({ input: response })) {
          if (!signal.aborted) onEvent(JSON.parse(line) as ClusterEvent<T>);
        }
      } catch (error) {
        if (!signal.aborted && (error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
      }
    }
  }

  #send(method: string, path: string, body?: { type: string; text: string }, signal?: AbortSignal) {
    const about = body && { "content-type": body.type, "content-length": Buffer.byteLength(body.text) };
    const headers = { authorization: `Bearer ${this.#token}`, ...about };
    // The certificate is the server's own.
    const options = { method, headers, rejectUnauthorized: false, ...(signal && { signal }) };
    return new Promise<IncomingMessage>((resolve, reject) => {
      request(this.#server + path, options, resolve)
        .on("error", reject)
        .end(body?.text);
    });
  }
}
