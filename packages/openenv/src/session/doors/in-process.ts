import type { Environment, EnvironmentDefinition } from "../../environment/environment.js";
import { ConnectionError, RemoteError } from "../../errors.js";
import { renderRequest } from "../../protocol/codec/codec.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { Cancels } from "../calls/cancels.js";
import type { SessionEvent } from "../calls/session-event.js";
import { imageAt } from "../copies/fork.js";
import { restoreSession } from "../copies/open-from.js";
import { makeEnvironment } from "../make-environment.js";
import { parseMessage, renderReply } from "../messages/message-codec.js";
import { createRuntime, type Runtime } from "../runtime.js";
import { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import { answerMcp } from "./rpc.js";

export interface InProcessOptions {
  timing?: boolean | undefined;
  digest?: boolean | undefined;
  /** The events that the requests repeat, in order: they get from outside what these got. */
  repeats?: readonly SessionEvent[] | undefined;
}

/**
 * Creates a session without a socket. Messages are parsed, dispatched and serialised as on a socket, with the same
 * result.
 * @throws RemoteError FACTORY_ERROR, with the factory's error as cause.
 */
export async function createInProcessTransport(
  definition: EnvironmentDefinition,
  options: InProcessOptions = {},
): Promise<Transport> {
  const runtime = createRuntime(definition);
  const session = await open(runtime);
  session.events.keepIfNeeded();
  return transportOf(session, options);
}

async function open(runtime: Runtime): Promise<Session> {
  const session = new Session(runtime);
  session.adopt(await make(runtime));
  return session;
}

function transportOf(session: Session, options: InProcessOptions): Transport {
  const { runtime } = session;
  const timing = options.timing === true;
  const digest = options.digest === true;
  const extensions = ["warnings", ...(timing ? ["timing"] : []), ...(digest ? ["digest"] : [])];
  const repeats = options.repeats?.values();
  const cancels = new Cancels();
  const onCancel = cancels.add;
  const answer = (frame: Exclude<ReturnType<typeof parseMessage>, { type: "close" }>) => {
    if (frame.type === "error") return frame;
    if (frame.type === "mcp") return answerMcp(frame.data, { own: session, runtime, sessions: undefined, onCancel });
    return session.call(frame, { timing, digest, warnings: true, event: true, onCancel });
  };
  return {
    get open() {
      return session.state === "ready";
    },
    async request(message: JsonObject): Promise<ReceivedMessage> {
      if (session.state !== "ready") throw new ConnectionError("SESSION_LOST", "the session has ended; call reset");
      const frame = parseMessage(renderRequest(message));
      if (frame.type === "close")
        throw new ConnectionError("PROTOCOL_ERROR", "use close() to end a session in process");
      if (repeats !== undefined) session.events.expect(repeats.next().value);
      cancels.begin();
      const reply = await answer(frame);
      cancels.end();
      const received = JSON.parse(renderReply(reply, runtime.maxAnswerBytes)) as ReceivedMessage;
      if (reply.type === "observation" && received.type === "error") session.dropEpisode();
      return { ...received, openenv: { extensions } };
    },
    cancel() {
      cancels.cancel(undefined);
      return true;
    },
    async fork({ count, event, rng }) {
      const copies: Session[] = [];
      try {
        const image = await imageAt(session, event);
        for (let nth = 0; nth < count; nth++) {
          const copy = await open(runtime);
          copies.push(copy);
          await restoreSession(copy, image);
          if (rng === "split") copy.events.split();
        }
      } catch (error) {
        await Promise.all(copies.map((copy) => copy.close("another copy of its session could not be made")));
        throw error instanceof SessionRejectedError ? toRemoteError(error) : error;
      }
      return copies.map((copy) => transportOf(copy, options));
    },
    close: () => session.close("closed by the client"),
  };
}

function toRemoteError({ data: { code, message, ...details } }: SessionRejectedError): RemoteError {
  return new RemoteError(code, message, details);
}

async function make(runtime: Runtime): Promise<Environment> {
  try {
    return await makeEnvironment(runtime);
  } catch (error) {
    if (!(error instanceof SessionRejectedError)) throw error;
    throw Object.assign(toRemoteError(error), { cause: error.cause });
  }
}
