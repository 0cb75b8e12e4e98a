import type { OpenEnvError } from "#core/errors.js";
import type { ForkValue, RolloutDetail } from "#core/protocol/rollouts.js";
import type { ServerHandle } from "#core/server/plugins/plugin.js";
import { type ForkOrder, playForks } from "./forks.js";

interface Asked {
  server: ServerHandle;
  request: Request;
}

/** Plays forks while their client reads, and sends it after each what the step is worth by then. */
export class ForkStreams {
  /** Forks are being played in this process: no others are then. */
  isBusy = false;

  stream(detail: RolloutDetail, wanted: ForkOrder, { server, request }: Asked): Response {
    this.isBusy = true;
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, request.signal, server.signal]);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void this.#play(detail, wanted, { server, signal, controller }),
      cancel: () => left.abort(),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
  }

  async #play(detail: RolloutDetail, wanted: ForkOrder, { server, signal, controller }: Playing): Promise<void> {
    const send = (event: string, data: object): void => {
      if (!signal.aborted)
        controller.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
    };
    const { policyUrl: url, policyModel: model = "", policyKey: apiKey } = server.settings as Record<string, string>;
    const endpoint = url === undefined ? undefined : { url, model, ...(apiKey !== undefined && { apiKey }) };
    try {
      await playForks(detail, wanted, { server, endpoint, signal, report: (value: ForkValue) => send("value", value) });
      send("end", {});
    } catch (error) {
      const { code, message } = error as OpenEnvError;
      send("problem", { code: code ?? "EXECUTION_ERROR", message });
    } finally {
      this.isBusy = false;
      if (!signal.aborted) controller.close();
    }
  }
}

interface Playing {
  server: ServerHandle;
  signal: AbortSignal;
  controller: ReadableStreamDefaultController<Uint8Array>;
}
