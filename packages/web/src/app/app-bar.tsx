import type { WebInfo } from "openenv-ts/protocol";
import { useSyncExternalStore } from "react";
import { Icon } from "../parts/icon.js";
import { IconButton } from "../parts/icon-button.js";
import { formatMs } from "../parts/text/format.js";
import type { ConnectionState } from "../play/connection.js";
import type { Play } from "../play/play.js";
import { SHORTCUTS_EVENT } from "../views/play/shortcuts.js";
import { VIEWS } from "../views.js";
import { switchTheme } from "./theme.js";

interface AppBarProps {
  info: WebInfo | undefined;
  /** Name of the current view. */
  current: string;
  play: Play;
}

/** Name and version, the views, the connection status, the theme. */
export function AppBar({ info, current, play }: AppBarProps) {
  const { connection, timeline } = useSyncExternalStore(play.subscribe, play.snapshot);
  const last = timeline.steps.at(-1);
  return (
    <header className="bar">
      <div className="brand">
        <Icon name="logo" />
        <h1 className="clip" title={info?.name}>
          {info?.name ?? "OpenEnv"}
        </h1>
        <small>{info?.version}</small>
      </div>
      <nav className="nav" aria-label="Views">
        {VIEWS.map(({ name, label, inBar }) =>
          info && inBar && !inBar(info) ? null : (
            <a
              key={name}
              href={`#/${name}`}
              aria-current={name === current || (name === "rollouts" && current === "compare") ? "page" : undefined}
            >
              {label}
            </a>
          ),
        )}
      </nav>
      <div className="bar__end">
        <ConnectionStatus connection={connection} ms={last?.ms} />
        <button
          type="button"
          className="btn btn--ghost btn--icon btn--sm hide-sm"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts"
          onClick={() => document.dispatchEvent(new CustomEvent(SHORTCUTS_EVENT))}
        >
          <kbd>?</kbd>
        </button>
        <IconButton icon="theme" label="Switch between light and dark" onClick={switchTheme} />
      </div>
    </header>
  );
}

function ConnectionStatus({ connection, ms }: { connection: ConnectionState; ms: number | undefined }) {
  const { status, nextTryAt, wasOpen } = connection;
  const words =
    status === "connected"
      ? "Connected"
      : status === "queued"
        ? "In the queue"
        : status === "idle"
          ? "Not connected"
          : status === "connecting"
            ? "Connecting"
            : nextTryAt === undefined || wasOpen
              ? "Reconnecting"
              : "No connection";
  const look = status === "connected" ? "ok" : status === "lost" && !wasOpen ? "bad" : "wait";
  return (
    <span className="status">
      <span className={`dot dot--${look}`} />
      <span role="status">{words}</span>
      {status === "connected" && ms !== undefined ? <span className="muted hide-sm">{formatMs(ms)}</span> : null}
    </span>
  );
}
