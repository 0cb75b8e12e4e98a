import { ConfigError } from "openenv-ts";
import { hubEndpoint } from "../hub/hub-account.js";

export interface GitSource {
  url: string;
  /** A branch, tag or commit; undefined for the default branch. */
  ref: string | undefined;
}

const REF = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/;

/**
 * Parses `https://host/path.git#ref`. Plain http is allowed only for this machine and `HF_ENDPOINT`, because the code
 * will be run.
 * @throws ConfigError for another kind of URL, or one with credentials.
 */
export function parseGitUrl(text: string): GitSource {
  const [address = "", ref] = text.replace(/^git\+/, "").split(/#(.*)/s);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !isAllowed(url)) {
    throw new ConfigError(`${JSON.stringify(hide(text))} is not a repository URL. Use an https:// URL.`);
  }
  if (url.username || url.password) {
    throw new ConfigError(`Remove the name and password from ${hide(text)}. Store them in git's credential helper.`);
  }
  if (ref !== undefined && (!REF.test(ref) || ref.includes(".."))) {
    throw new ConfigError(`${JSON.stringify(ref)} after the # is not a branch, tag or commit.`);
  }
  return { url: url.href, ref };
}

/** True for text that looks like the URL of a repository. */
export function isGitUrl(text: string): boolean {
  return /^(git\+)?[a-z][a-z0-9+.-]*:\/\//i.test(text) || /^git@/.test(text);
}

function isAllowed({ protocol, hostname, host }: URL): boolean {
  if (protocol === "https:") return true;
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(hostname) || host === new URL(hubEndpoint()).host;
  return protocol === "http:" && local;
}

function hide(text: string): string {
  return text.replace(/\/\/[^/@]*@/, "//");
}
