import { useSyncExternalStore } from "react";

/** What the address after the `#` names. Values that are not in the address are null, and a query is empty. */
export type PageRoute =
  // With `from`, the recorded episode with this id is played again up to the step, to play on from there.
  | { view: "play"; from?: string; step: number | null }
  | RolloutsRoute
  | { view: "compare"; a: string; b: string; step: number | null }
  | { view: "session"; handle: string }
  | { view: "server" }
  | { view: "about" };

/** The table of rollouts, or with an `id` one of them. The query is kept, so that the way back leads to the same rows. */
export interface RolloutsRoute {
  view: "rollouts";
  id: string | null;
  step: number | null;
  /** Text of the filter. */
  q: string;
  by: (typeof GROUPINGS)[number];
  /** Name of a column, with `-` for the greatest first; empty for the default. */
  sort: string;
  /** Id of the selected row. */
  sel: string | null;
}

const GROUPINGS = ["episode", "group", "failure"] as const;

/** The table of rollouts without a filter. */
export const ROLLOUTS: RolloutsRoute = {
  view: "rollouts",
  id: null,
  step: null,
  q: "",
  by: "episode",
  sort: "",
  sel: null,
};

/** The route of an address such as `#/play/step/3`. An address that names nothing is that of Play. */
export function parseRoute(hash: string): PageRoute {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/").map(decode);
  switch (view) {
    case "server":
    case "about":
      return { view };
    case "session":
      return rest[0] ? { view, handle: rest[0] } : PLAY;
    case "compare":
      return rest[0] && rest[1] ? { view, a: rest[0], b: rest[1], step: stepOf(rest.slice(2)) } : PLAY;
    case "rollouts": {
      const query = new URLSearchParams(search);
      const by = GROUPINGS.find((name) => name === query.get("by")) ?? "episode";
      const [q, sort, sel] = [(query.get("q") ?? "").trim(), query.get("sort") ?? "", query.get("sel")];
      return { view, id: rest[0] || null, step: rest[0] ? stepOf(rest.slice(1)) : null, q, by, sort, sel };
    }
    default:
      if (view !== "play") return PLAY;
      return rest[0] === "from" && rest[1]
        ? { view, from: rest[1], step: stepOf(rest.slice(2)) }
        : { view, step: stepOf(rest) };
  }
}

/** The address of a route, for a link. */
export function hrefOf(route: PageRoute): string {
  switch (route.view) {
    case "play":
      return `#/play${route.from === undefined ? "" : `/from/${encode(route.from)}`}${stepPath(route.step)}`;
    case "session":
      return `#/session/${encode(route.handle)}`;
    case "compare":
      return `#/compare/${encode(route.a)}/${encode(route.b)}${stepPath(route.step)}`;
    case "rollouts": {
      const { id, step, q, by, sort, sel } = route;
      const path = id === null ? "" : `/${encode(id)}${stepPath(step)}`;
      const query = Object.entries({ q, by: by === "episode" ? "" : by, sort, sel: sel ?? "" })
        .filter(([, value]) => value !== "")
        .map(([name, value]) => `${name}=${encode(value).replaceAll("%20", "+")}`);
      return `#/rollouts${path}${query.length > 0 ? `?${query.join("&")}` : ""}`;
    }
    default:
      return `#/${route.view}`;
  }
}

/** Goes to a route. With `replace` the way back skips the address that is left. */
export function navigate(route: PageRoute, { replace = false }: { replace?: boolean } = {}): void {
  const href = hrefOf(route);
  if (href === location.hash) return;
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  for (const listener of listeners) listener();
}

/** The route of the page's address. */
function currentRoute(): PageRoute {
  if (location.hash !== known.hash) known = { hash: location.hash, route: parseRoute(location.hash) };
  return known.route;
}

/** Calls the listener after each change of the address. */
function subscribeRoute(listener: () => void): () => void {
  listeners.add(listener);
  // Also fires on back and forward, which change only the part after the `#`.
  addEventListener("hashchange", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("hashchange", listener);
  };
}

/** The current route; the component is drawn again when it changes. */
export function useRoute(): PageRoute {
  return useSyncExternalStore(subscribeRoute, currentRoute);
}

const PLAY: PageRoute = { view: "play", step: null };
const listeners = new Set<() => void>();
let known: { hash: string | undefined; route: PageRoute } = { hash: undefined, route: PLAY };

function stepPath(step: number | null): string {
  return step === null ? "" : `/step/${step}`;
}

function stepOf([word, number = ""]: string[]): number | null {
  return word === "step" && /^\d{1,9}$/.test(number) ? Number(number) : null;
}

/** Colons are common in a query, and mean nothing after the `#`. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("%3A", ":");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
