/**
 * What the other packages of this repository use, and nobody else may: nothing here is promised to stay. It is small,
 * because each command loads it; the functions named `load…` bring what is not. scripts/checks/internal.mjs limits the
 * names, and lists who uses each.
 */
import * as relaying from "./environment/relay.js";
import * as offers from "./protocol/offered-actions.js";
import * as jsonSchema from "./protocol/schema/schema-variants.js";
import * as checker from "./testing/report.js";

export { compileActionCheck } from "./client/contract/generic.js";
export { parseAddress } from "./client/transport/address.js";
export { openSocket } from "./client/transport/socket.js";
export { sampleValue } from "./contract/json-schema/sample-value.js";
export { ConfigError } from "./errors.js";
export { parseJson } from "./protocol/codec/json.js";
export { toColumns } from "./protocol/episode-line.js";
export { canonicalSchema } from "./protocol/schema/json-schema.js";
export { isToolAction } from "./protocol/tools.js";
export type { GatewayModule } from "./server/gateway/gateway.js";
export type { METRICS } from "./server/metrics/metrics.js";
export { descriptorLimit } from "./util/descriptor-limit.js";
export { findDifference } from "./util/first-difference.js";
export { findFreePort } from "./util/free-port.js";
export { isObject } from "./util/is-object.js";
export { escapeControls } from "./util/text/escape-controls.js";
export { imageName } from "./util/text/image-name.js";
export { findNearest } from "./util/text/nearest.js";
export { renderPython } from "./util/text/python-literal.js";
export { checker, jsonSchema, offers, relaying };

/** What watches over workers, and what a worker finds it with. */
export const loadCluster = () => import("./server/parts/cluster.js");
/** The client of a server that this process has started, and that of its HTTP routes. */
export const loadClient = () => import("./client/connect-to.js");
/** The environment of a module. */
export const loadPicker = () => import("./environment/pick-environment.js");
/** The episodes that a server has recorded. */
export const loadArchive = async () => (await import("./server/parts/rollouts.js")).openArchive;
/** The log of a server. */
export const loadLogger = () => import("./server/logging/logger.js");
/** A session that records answers before any client changes them. */
export const loadRecorder = () => import("./testing/collect-episode.js");
/** Recorded sessions, and the client that plays them again. */
export const loadReplay = () => import("./replay.js");
/** A policy that asks a language model. */
export const loadModelPolicy = () => import("./testing/model-policy.js");
/** The settings of a server. */
export const loadSettings = () => import("./server/config/list-settings.js");
