import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import type { WebInfo } from "../../openenv/src/protocol/web.js";
import type { Play } from "./play/play.js";

/** What every view is given. A view fills the page under the application bar. */
export interface ViewProps {
  info: WebInfo;
  play: Play;
}

interface View {
  /** Behind the `#` of the address. */
  path: string;
  label: string;
  Component: ComponentType<ViewProps> | LazyExoticComponent<ComponentType<ViewProps>>;
}

/** The views in the order of the application bar; the first one is the start. A view is a folder of `views/`. */
export const VIEWS: readonly [View, ...View[]] = [
  { path: "play", label: "Play", Component: lazy(() => import("./views/play/play-view.js")) },
  { path: "server", label: "Server", Component: lazy(() => import("./views/server/server-view.js")) },
  { path: "about", label: "About", Component: lazy(() => import("./views/about/about-view.js")) },
];
