import { FRAMES_CSS } from "../frames-page.js";

/** Of `/docs` and `/redoc`, in the colours of `/docs/frames`. */
export const DOCS_CSS = `${FRAMES_CSS}
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
