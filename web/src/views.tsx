import type { ComponentType } from "react";
import type { WebInfo } from "../../openenv/src/protocol/web.js";
import { lazily } from "./parts/lazily.js";
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
  Component: ComponentType<ViewProps>;
  /** Loads the component before it is shown. */
  load(): Promise<unknown>;
}

/** The views in the order of the application bar; the first one is the start. A view is a folder of `views/`. */
export const VIEWS: readonly [View, ...View[]] = [
  viewOf("play", "Play", () => import("./views/play/play-view.js")),
  viewOf("server", "Server", () => import("./views/server/server-view.js")),
  viewOf("about", "About", () => import("./views/about/about-view.js")),
];

function viewOf(path: string, label: string, load: () => Promise<{ default: ComponentType<ViewProps> }>): View {
  return { path, label, load, Component: lazily(label, load) };
}
