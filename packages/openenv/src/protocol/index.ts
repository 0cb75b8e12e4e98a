export {
  EPISODE_FORMAT,
  type EpisodeRecord,
  type EpisodeTool,
  parseEpisode,
  type RecordedFailure,
  type RecordedStep,
} from "./episode.js";
export { renderEpisode } from "./episode-line.js";
export { NO_SESSION, SESSION_HEADER } from "./headers.js";
export type { JsonObject } from "./messages.js";
export type { ContractFingerprint, MetadataBody, PublishedTool, SchemaBody } from "./published.js";
export {
  formatRolloutQuery,
  parseRolloutQuery,
  ROLLOUT_OUTCOMES,
  type RolloutOutcome,
  type RolloutQuery,
  type RolloutQueryError,
  type RolloutRange,
  type RolloutTerm,
} from "./rollout-query.js";
export type {
  EpisodeRow,
  FailureRow,
  ForkValue,
  GroupRow,
  PreferencePair,
  RolloutDetail,
  RolloutError,
  RolloutEvent,
  RolloutFacets,
  RolloutHistogram,
  RolloutLive,
  RolloutPage,
  RolloutSession,
  StripStep,
} from "./rollouts.js";
export type { ServerView, View, WebInfo } from "./web.js";
