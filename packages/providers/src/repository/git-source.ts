import { ConfigError } from "openenv-ts/internal";
import { hubEndpoint } from "../hub/hub-account.js";

export interface GitSource {
  url: string;
  /** A branch, tag or commit; undefined for the default branch. */
  ref: string | undefined;
}

const REF = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/;

/**
 * Reads `https://host/path.git#ref`. Without encryption only this machine and `HF_ENDPOINT` may be asked: what comes is run.
 * @throws ConfigError for another kind of URL, also one with a password in it.
 */
export function parseGitUrl(text: string): GitSource {
  const [address = "", ref] = text.replace(/^git\+/, "").split(/#(.*)/s);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !isAllowed(url)) {
    throw new ConfigError(`${JSON.stringify(hide(text))} is no repository to clone; give an https:// URL.`);
  }
  if (url.username || url.password) {
    throw new ConfigError(`Leave the name and password out of ${hide(text)}; give them to git's credential helper.`);
  }
  if (ref !== undefined && (!REF.test(ref) || ref.includes(".."))) {
    throw new ConfigError(`${JSON.stringify(ref)} after the # is no branch, tag or commit.`);
  }
  return { url: url.href, ref };
}

/** True for what a person would call the address of a repository. */
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
