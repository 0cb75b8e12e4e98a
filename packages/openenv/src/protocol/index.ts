export { EPISODE_FORMAT, type EpisodeRecord, parseEpisode, type RecordedStep } from "./episode.js";
export type { JsonObject } from "./messages.js";
export type { ContractFingerprint, MetadataBody, PublishedTool, SchemaBody } from "./published.js";
