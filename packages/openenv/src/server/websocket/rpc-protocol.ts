import { parseJson } from "../../protocol/codec/json.js";
import { RPC_ERRORS, RpcError, type RpcResponse, rpcFailure } from "../../protocol/jsonrpc.js";
import { addressUseOf, answerRpc, rejectionToRpc, renderRpc } from "../../session/doors/rpc.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import { after } from "../../util/async/after.js";
import type { SocketProtocol } from "./protocol.js";

/** JSON-RPC on WebSocket `/mcp`: one answer for each frame. */
export function createRpcProtocol(runtime: Runtime, sessions: Sessions): SocketProtocol {
  const render = (response: RpcResponse): string => renderRpc(response, runtime.maxAnswerBytes);
  const parseError = (message: string): string => render(rpcFailure(null, new RpcError(RPC_ERRORS.parse, message)));
  return {
    client: "mcp",
    addressUse(text) {
      try {
        return addressUseOf(parseJson(text, runtime.maxMessageItems));
      } catch {
        return undefined;
      }
    },
    answer(connection, text) {
      let value: unknown;
      try {
        value = parseJson(text, runtime.maxMessageItems);
      } catch (error) {
        return parseError(`Parse error: ${(error as Error).message}`);
      }
      const { session: own, orchestrator, principal } = connection;
      return after(answerRpc(value, { runtime, sessions, own, orchestrator, principal }), render);
    },
    binary: () => parseError("Parse error: frames are JSON text, not binary"),
    reject(refusal) {
      runtime.statistics.countError(refusal.data);
      return render(rpcFailure(null, rejectionToRpc(refusal)));
    },
  };
}
