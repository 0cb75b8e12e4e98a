/**
 * `node step-pieces.mjs` (or `bun`, `deno run -A`): what the parts of a step take on this runtime, in a loop without a socket.
 * Prints one line of JSON: microseconds by part.
 */
import { SessionProtocol } from "../../packages/openenv/dist/server/websocket/session-protocol.js";
import { makeEnvironment } from "../../packages/openenv/dist/session/make-environment.js";
import { createRuntime } from "../../packages/openenv/dist/session/runtime.js";
import { Session } from "../../packages/openenv/dist/session/session.js";
import { echo } from "../controls/echo.mjs";

const WARM_UP_MS = 500;
const MEASURED_MS = 500;
const AT_ONCE = 500;

const FRAME = '{"type":"step","data":{"message":"connection 12 says 3"}}';
const runtime = createRuntime(echo());
const session = new Session(runtime);
session.adopt(await makeEnvironment(runtime));
const protocol = new SessionProtocol(runtime, { departure: { hasBegun: false } });
const connection = { session, extensions: [], orchestrator: false, answered: true, opensSession: true, arrivedAt: 0 };
protocol.answer(connection, '{"type":"reset"}');

const request = JSON.parse(FRAME);
const reply = session.call(request);
const { environment } = session;
const returned = environment.step(request.data);

const parse = time(() => JSON.parse(FRAME).type);
const write = time(() => JSON.stringify(reply).length);
const step = time(() => environment.step(request.data).reward);
const validation = time(
  () => runtime.validator.action(request.data).ok && runtime.validator.transition(returned).reward,
);
const call = time(() => session.call(request).type);
const answer = time(() => protocol.answer(connection, FRAME).length);
const json = parse + write;
const parts = { json, step, validation, session: call - step - validation, protocol: answer - call - json };
process.stdout.write(`${JSON.stringify(parts)}\n`);
process.exit(0);

/** The microseconds of one call. */
function time(work) {
  loop(work, WARM_UP_MS);
  return loop(work, MEASURED_MS);
}

function loop(work, milliseconds) {
  const started = performance.now();
  let done = 0;
  let used = 0;
  for (; performance.now() - started < milliseconds; done += AT_ONCE) {
    for (let nth = 0; nth < AT_ONCE; nth++) if (work()) used++;
  }
  if (used !== done) throw new Error("a part of the step returned nothing");
  return ((performance.now() - started) * 1000) / done;
}
