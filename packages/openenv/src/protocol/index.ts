export { EPISODE_FORMAT, type EpisodeRecord, parseEpisode, type RecordedStep } from "./episode.js";
export type { MetadataBody, PublishedTool, SchemaBody } from "./http.js";
export type { JsonObject } from "./messages.js";
export {
  DEFAULT_SESSION_QUERY,
  MAX_LISTED_SESSIONS,
  renderSessionQuery,
  type SessionColumn,
  type SessionQuery,
  sessionState,
} from "./session-query.js";
export { isToolAction, type ToolSummary } from "./tools.js";
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
