/**
 * The style of `/docs` and `/redoc`. Text of an environment may change the direction of writing; isolation limits that
 * to its own element.
 */
export const DOCS_CSS = `
* { unicode-bidi: isolate; }
:root { color-scheme: light dark; --line: light-dark(#d5dae1, #3a424d); --quiet: light-dark(#4f5866, #a9b3c0); }
body { font: 15px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; } h2 { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1.5rem; }
html { background: light-dark(#fff, #14171c); color: light-dark(#15181d, #e8ebef); }
a { color: light-dark(#1d4ed8, #8aa9ff); }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { border: 1px solid var(--line); border-radius: 4px; margin: 0.5rem 0; overflow-x: auto; padding: 0.75rem; }
p { max-width: 44rem; } .quiet { color: var(--quiet); }
details { margin: 0.5rem 0; } summary { cursor: pointer; padding: 0.25rem 0; }
.route { border: 1px solid var(--line); border-radius: 4px; padding: 0 0.75rem; }
.route > summary { padding: 0.5rem 0; }
.route[open] { padding-bottom: 0.75rem; }
.route code { overflow-wrap: anywhere; }
.method { display: inline-block; font: 600 12px/1.5 ui-monospace, monospace; min-width: 3.5rem; }
.route pre { max-height: 32rem; overflow: auto; }
form { border-top: 1px solid var(--line); margin-top: 0.75rem; }
label { display: block; margin: 0.75rem 0 0.25rem; }
input, textarea { background: light-dark(#fff, #1b1f26); border: 1px solid light-dark(#79828f, #7d8794); border-radius: 4px;
  box-sizing: border-box; color: inherit; font: 13px/1.5 ui-monospace, monospace; padding: 0.375rem 0.5rem; width: 100%; }
button { background: light-dark(#1d4ed8, #8aa9ff); border: 0; border-radius: 4px; color: light-dark(#fff, #10131a);
  cursor: pointer; font: inherit; margin: 0.75rem 0; padding: 0.375rem 1rem; }
:focus-visible { outline: 2px solid light-dark(#1d4ed8, #8aa9ff); outline-offset: 2px; }
`;
