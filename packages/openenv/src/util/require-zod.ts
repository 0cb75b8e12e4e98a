import * as z from "zod";
import { ConfigError } from "../errors.js";

/** The lowest release that keeps to `abortEarly`, on which the limits for large input stand. */
const LOWEST_MINOR = 6;

const { version } = (z as { core?: { version?: { major: number; minor: number } } }).core ?? {};
if (version?.major !== 4 || version.minor < LOWEST_MINOR) {
  const found = version ? `${version.major}.${version.minor}` : "3 or older";
  throw new ConfigError(`openenv-ts needs zod ^4.${LOWEST_MINOR}.0 and found zod ${found}; run: npm install zod@4`);
}
