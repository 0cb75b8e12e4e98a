export { parseJson } from "./codec/json.js";
export {
  EPISODE_FORMAT,
  type EpisodeRecord,
  parseEpisode,
  type RecordedFailure,
  type RecordedStep,
} from "./episode.js";
export { type MetadataBody, NO_SESSION, type SchemaBody, SESSION_HEADER } from "./http.js";
export type { JsonObject } from "./messages.js";
export { canonicalSchema } from "./schema/json-schema.js";
export type { Direction } from "./schema/schema-fits.js";
export { BOUNDS, boundOf, EXACT } from "./schema/schema-limits.js";
export {
  asList,
  asNode,
  covers,
  dereference,
  isComparable,
  type Node,
  openness,
  othersOf,
  type Variant,
  variantsOf,
} from "./schema/schema-variants.js";
export { countSilentChecks, IMAGE_STOP_VARIABLES, stopSeconds } from "./server-times.js";
export {
  DEFAULT_SESSION_QUERY,
  MAX_LISTED_SESSIONS,
  renderSessionQuery,
  type SessionColumn,
  type SessionQuery,
  sessionState,
} from "./session-query.js";
export { isToolAction, type PublishedTool, type ToolSummary } from "./tools.js";
export type { ReceivedMessage } from "./transport.js";
export {
  MAX_REPORTED_ERRORS,
  type ServerView,
  type ServerViewError,
  type ServerViewSession,
  type TextSpan,
  type View,
  type ViewPart,
  type WebInfo,
} from "./web.js";
