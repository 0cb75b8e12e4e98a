import { parseEpisode, renderEpisode } from "openenv-ts/protocol";

export const episode = parseEpisode("{}");
export const [first] = episode.steps;
export const line = renderEpisode(episode);
export const { tools } = episode;
