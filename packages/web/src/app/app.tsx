import type { SchemaBody, WebInfo } from "openenv-ts/protocol";
import { useEffect, useLayoutEffect, useState, useSyncExternalStore } from "react";
import { Retry } from "../parts/button.js";
import { Instead } from "../parts/instead.js";
import { Boundary } from "../parts/loading/boundary.js";
import { Loading } from "../parts/loading/loading.js";
import { Notice } from "../parts/notice.js";
import { TokenForm } from "../parts/token-form.js";
import { Play } from "../play/play.js";
import { keepToken, tabToken } from "../server/token.js";
import { useFetched } from "../use-fetched.js";
import { VIEWS } from "../views.js";
import { AppBar } from "./app-bar.js";
import { focusContent } from "./focus-content.js";
import { useRoute } from "./router.js";
import { ShortcutsDialog } from "./shortcuts-dialog.js";

/** The page: the application bar, and the view of the URL. */
export function App() {
  const route = useRoute();
  const [play] = useState(() => new Play());
  const plays = PLAYING.includes(route.view);
  // The connection is opened before the first render, which takes time.
  useLayoutEffect(() => {
    if (plays) play.start();
  }, [plays, play]);
  const { sessions } = useSyncExternalStore(play.subscribe, () => play.snapshot().connection);
  const { value: info, problem, needsToken, load } = useFetched<WebInfo>("/web/info", sessions);
  const schema = useFetched<SchemaBody>("/schema", sessions);
  const view = VIEWS.find(({ name }) => name === route.view) ?? VIEWS[0];
  useEffect(() => {
    document.title = `${view.label} · ${info?.name ?? "OpenEnv"}`;
  }, [view, info]);
  // A session shows whether it can be copied.
  useEffect(() => {
    if (sessions === 1) load();
  }, [sessions, load]);
  // This page cannot play here, so it leaves the session to clients that can.
  useEffect(() => {
    if (info?.guarded) play.leave(false);
  }, [info?.guarded, play]);
  const takeToken = (token: string): void => {
    keepToken(token);
    load();
    schema.load();
  };
  const toContent = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    focusContent();
  };
  return (
    <>
      <a className="skip" href="#main" onClick={toContent}>
        Skip to content
      </a>
      <div className={`app ${view.isFixed ? "app--fixed" : ""}`}>
        <AppBar info={info} current={view.name} play={play} />
        {needsToken ? <ClientAccess onToken={takeToken} /> : null}
        {problem && !needsToken ? (
          <Notice
            tone="bad"
            bar
            title="The environment information could not be read."
            actions={<Retry onClick={load} />}
          >
            {problem}
          </Notice>
        ) : null}
        {info || problem ? null : <Loading what="the page" />}
        {info
          ? VIEWS.map(({ name, label, Component }) =>
              // Play stays mounted, with its input and state.
              name === view.name || name === "play" ? (
                <div key={name} className="view" hidden={name !== view.name}>
                  <Boundary what={label}>
                    <Component info={info} play={play} schema={schema} />
                  </Boundary>
                </div>
              ) : null,
            )
          : null}
      </div>
      <ShortcutsDialog />
    </>
  );
}

/** The views that belong to the session of this tab. */
const PLAYING: readonly string[] = ["play", "server", "about"];

/** A server with a client token returns no information without it. */
function ClientAccess({ onToken }: { onToken(token: string): void }) {
  const problem = tabToken() === undefined ? null : "The server rejected this token.";
  return (
    <Instead title="This server requires a token">
      <p>
        Paste the value of <code>OPENENV_CLIENT_TOKEN</code> of the server. It is stored in this tab only; a cookie
        gives access to the documentation of the server. The operator token works, too.
      </p>
      <TokenForm label="Token" problem={problem} onToken={onToken} />
    </Instead>
  );
}
