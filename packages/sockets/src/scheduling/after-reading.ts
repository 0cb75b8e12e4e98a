import { nextTurn } from "./next-turn.js";

/**
 * Calls as setTimeout does, but handles messages that have arrived first. After this process was blocked, timers run
 * before pending messages, so an answer that arrived in time would be missed. May call after clearTimeout: callbacks
 * check for that.
 */
export function afterReading(ms: number, call: () => void): NodeJS.Timeout {
  return setTimeout(() => nextTurn(call), ms);
}
