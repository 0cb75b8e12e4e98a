import { parseEpisode } from "openenv-ts/protocol";

export const episode = parseEpisode("{}");
export const [first] = episode.steps;
