import type { SchemaBody, WebInfo } from "openenv-ts/protocol";
import type { ComponentType } from "react";
import type { PageRoute } from "./app/router.js";
import { lazily } from "./parts/loading/lazily.js";
import type { Play } from "./play/play.js";
import type { Fetched } from "./use-fetched.js";
import { PlayView } from "./views/play/play-view.js";

/** The props of every view. A view fills the page under the application bar. */
export interface ViewProps {
  info: WebInfo;
  play: Play;
  schema: Fetched<SchemaBody>;
}

interface View {
  name: PageRoute["view"];
  /** The title of the page, and the link in the application bar. */
  label: string;
  Component: ComponentType<ViewProps>;
  /** True where the bar has a link to it; default: everywhere. */
  inBar?(info: WebInfo): boolean;
  /** The view is as high as the window, and its parts scroll. */
  isFixed?: boolean;
}

/**
 * The views in the order of the application bar. The first one is part of the main bundle, and shown for a route without
 * a view.
 */
export const VIEWS: readonly [View, ...View[]] = [
  { name: "play", label: "Play", Component: PlayView, isFixed: true },
  viewOf("rollouts", "Rollouts", () => import("./views/rollouts/rollouts-view.js"), {
    inBar: ({ rollouts }) => rollouts,
    isFixed: true,
  }),
  viewOf("compare", "Compare", () => import("./views/compare/compare-view.js"), { inBar: () => false, isFixed: true }),
  viewOf("server", "Server", () => import("./views/server/server-view.js")),
  viewOf("about", "About", () => import("./views/about/about-view.js")),
  viewOf("session", "Session", () => import("./views/session/session-view.js"), { inBar: () => false }),
];

function viewOf(
  name: View["name"],
  label: string,
  load: () => Promise<{ default: ComponentType<ViewProps> }>,
  more: Pick<View, "inBar" | "isFixed"> = {},
): View {
  return { name, label, Component: lazily(label, load), ...more };
}
