import { ConfigError } from "openenv-ts";
import { hubEndpoint } from "./hub-account.js";

const PART = "[A-Za-z0-9][A-Za-z0-9._-]{0,95}";
const ID = new RegExp(`^${PART}/${PART}$`);
const PAGE = new RegExp(`^/spaces/(${PART}/${PART}?)(?:\\.git)?/?$`);

/** True for `owner/name`, which may also be a folder. */
export function isSpaceId(text: string): boolean {
  return ID.test(text) && !text.includes("..");
}

/** @throws ConfigError for anything but `owner/name`. */
export function parseSpaceId(text: string): string {
  if (isSpaceId(text)) return text;
  throw new ConfigError(`${JSON.stringify(text)} is not a Space id. Use owner/name, as in the Space's URL.`);
}

/** The `owner/name` of a Space's page or repository on the Hub; undefined for another URL. */
export function spaceOfPage(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  const id = origin === new URL(hubEndpoint()).origin ? PAGE.exec(pathname)?.[1] : undefined;
  return id && isSpaceId(id) ? id.replace(/\.git$/, "") : undefined;
}

/** The form of a Space's id in host names and image names of the Hub: `owner-name`. */
export function spaceSubdomain(id: string): string {
  return id.toLowerCase().replace(/[^a-z0-9]/g, "-");
}
