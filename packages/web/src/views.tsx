import type { SchemaBody, WebInfo } from "openenv-ts/protocol";
import type { ComponentType } from "react";
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
  /** Path after the `#` of the URL. */
  path: string;
  label: string;
  Component: ComponentType<ViewProps>;
}

/** The views in the order of the application bar. The first one is the default, and part of the main bundle. */
export const VIEWS: readonly [View, ...View[]] = [
  { path: "play", label: "Play", Component: PlayView },
  viewOf("server", "Server", () => import("./views/server/server-view.js")),
  viewOf("about", "About", () => import("./views/about/about-view.js")),
];

function viewOf(path: string, label: string, load: () => Promise<{ default: ComponentType<ViewProps> }>): View {
  return { path, label, Component: lazily(label, load) };
}
