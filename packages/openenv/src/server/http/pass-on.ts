import { type HttpResponse, onNode } from "#parts/sockets";
import type { SessionKey } from "../../session/registry/directory.js";
import type { ServerContext } from "../context.js";
import { type BodyReader, readBody } from "./body.js";

interface PassedRequest extends BodyReader {
  readonly response: HttpResponse;
  readonly context: ServerContext;
  readonly forwarded: boolean;
}

/**
 * True if another worker of the server has the session, and answers the request. The body is read unless it is given.
 */
export async function passToWorker(ctx: PassedRequest, key: SessionKey, body?: string | Buffer): Promise<boolean> {
  const { context, forwarded } = ctx;
  const { cluster, directory } = context;
  if (forwarded || cluster === undefined) return false;
  const worker = await directory.locate(key);
  if (worker === undefined) return false;
  const text = (body ?? (await readBody(ctx))).toString();
  // The session of an address may continue in another worker.
  cluster.forward(worker, { ...onNode(ctx), body: text, named: key.address === undefined });
  return true;
}

/** True if another worker of the server has more room, and answers the request. `body` is its text. */
export function passToRoom(ctx: PassedRequest, body: string): boolean {
  const { context, forwarded } = ctx;
  const roomier = forwarded ? undefined : context.cluster?.withRoom();
  if (roomier === undefined) return false;
  context.cluster?.forward(roomier, { ...onNode(ctx), body, named: false });
  return true;
}
