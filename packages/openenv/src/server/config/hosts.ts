import { ConfigError } from "../../errors.js";

/** Parses origins to the form that browsers send. @throws ConfigError */
export function parseOrigins(names: readonly string[]): string[] {
  return names.flatMap((given) => {
    const name = String(given).trim();
    if (name === "*" || name === "") return name || [];
    const url = URL.canParse(name) ? new URL(name) : undefined;
    // `url.origin` is not used: it is "null" for the pages of a browser extension.
    if (url !== undefined && url.host !== "") return `${url.protocol}//${url.host}`;
    throw new ConfigError(`ALLOWED_ORIGINS must be origins such as https://example.org, got "${name}".`);
  });
}

/** Parses host names to lower case. @throws ConfigError that names the setting. */
export function parseHosts(setting: string, names: readonly string[]): string[] {
  return names.flatMap((given) => {
    const name = bareName(String(given).trim());
    if (name === "" || HOST_NAME.test(name)) return name || [];
    throw new ConfigError(`${setting} must be host names without a port, such as env.example.org, got "${name}".`);
  });
}

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

/** Converts to lower case, without the brackets of an IPv6 address and a trailing dot. */
export function bareName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}
