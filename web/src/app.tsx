import { useEffect, useState, useSyncExternalStore } from "react";
import { AppBar } from "./app-bar.js";
import { focusContent } from "./focus-content.js";
import { Loading } from "./parts/loading.js";
import { Notice } from "./parts/notice.js";
import { Play } from "./play/play.js";
import { ShortcutsDialog } from "./shortcuts-dialog.js";
import { useInfo } from "./use-info.js";
import { VIEWS } from "./views.js";

/** The page: the application bar, and the view that the address names. */
export function App() {
  const { info, problem, retry } = useInfo();
  const [play] = useState(() => {
    // Play is always there, and need not wait for what the server tells; when it cannot be loaded, its place says so.
    VIEWS[0].load().catch(() => {});
    return new Play();
  });
  const { connection } = useSyncExternalStore(play.subscribe, play.snapshot);
  const path = useHash();
  const view = VIEWS.find((candidate) => candidate.path === path) ?? VIEWS[0];
  // A server that came back may be another one.
  const isBack = connection.sessions > 1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each new session
  useEffect(() => {
    if (isBack) retry();
  }, [connection.sessions, isBack, retry]);
  useEffect(() => {
    document.title = `${view.label} · ${info?.name ?? "OpenEnv"}`;
  }, [view, info]);
  const toContent = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    focusContent();
  };
  return (
    <>
      <a className="skip" href="#main" onClick={toContent}>
        Skip to content
      </a>
      <div className={`app ${view.path === "play" ? "app--fixed" : ""}`}>
        <AppBar info={info} current={view.path} play={play} />
        {problem ? (
          <Notice tone="bad" bar title="The server did not tell what it serves." actions={<Retry onClick={retry} />}>
            {problem}
          </Notice>
        ) : null}
        {info || problem ? null : <Loading what="the page" />}
        {info
          ? VIEWS.map(({ path: name, Component }) =>
              // Play stays, with what is typed and open in it.
              name === view.path || name === "play" ? (
                <div key={name} className="view" hidden={name !== view.path}>
                  <Component info={info} play={play} />
                </div>
              ) : null,
            )
          : null}
      </div>
      <ShortcutsDialog />
    </>
  );
}

function Retry({ onClick }: { onClick(): void }) {
  return (
    <button type="button" className="btn btn--sm" onClick={onClick}>
      Try again
    </button>
  );
}

function useHash(): string {
  return useSyncExternalStore(subscribeHash, () => location.hash.replace(/^#\/?/, ""));
}

function subscribeHash(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}
