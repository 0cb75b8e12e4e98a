import type { IncomingHttpHeaders } from "node:http";

/** The value of a cookie; undefined when it is missing or empty. */
export function readCookie({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  if (cookie === undefined) return undefined;
  const start = `${name}=`;
  const found = cookie.split(";").find((part) => part.trimStart().startsWith(start));
  return found?.trim().slice(start.length) || undefined;
}
