import type { JSX } from "react";

const PATHS = {
  logo: (
    <>
      <path d="M13.2 4.2A6 6 0 1 0 14 8" />
      <path d="M13.6 1.6v2.9h-2.9" />
      <circle cx="8" cy="8" r="1.6" fill="currentColor" stroke="none" />
    </>
  ),
  theme: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />
    </>
  ),
  again: (
    <>
      <path d="M13 8a5 5 0 1 1-1.6-3.7" />
      <path d="M13.5 2v3h-3" />
    </>
  ),
  fork: <path d="M8 14V9.5M8 9.5 4 6V2.5M8 9.5 12 6V2.5" />,
  down: <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />,
  left: <path d="m9.5 4.5-3.5 3.5 3.5 3.5" />,
  right: <path d="m6.5 4.5 3.5 3.5-3.5 3.5" />,
  up: <path d="m4.5 9.5 3.5-3.5 3.5 3.5" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5" />
    </>
  ),
  more: <path d="M3.5 8h.1M8 8h.1M12.5 8h.1" className="thick" />,
  open: <path d="M8 10.5V3m-3 3 3-3 3 3M2.5 13.5h11" />,
  save: <path d="M8 2.5v7.5m-3-3 3 3 3-3M2.5 13.5h11" />,
  check: <path d="m3.5 8.5 3 3 6-7" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.5" />
      <path d="m10.5 10.5 3 3" />
    </>
  ),
  filter: <path d="M2.5 4h11M4.5 8h7M6.5 12h3" />,
  compare: <path d="M8 2v12M3 5h2.5M3 8h2.5M3 11h2.5M10.5 5H13M10.5 8H13M10.5 11H13" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  play: <path d="M5 3.5v9l7-4.5z" />,
  plus: <path d="M8 3v10M3 8h10" />,
  alert: (
    <>
      <path d="M8 2.5 14.5 13.5h-13z" />
      <path d="M8 6.5v3.2M8 11.6v.1" />
    </>
  ),
  plug: (
    <path d="M2 14l3-3m0 0 5-5M5 11l-1-1a2.5 2.5 0 0 1 0-3.5L6 4.5 11.5 10l-2 2a2.5 2.5 0 0 1-3.5 0zM9 4l2-2m1 5 2-2" />
  ),
  clock: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 4.5V8l2.5 1.5" />
    </>
  ),
} satisfies Record<string, JSX.Element>;

export type IconName = keyof typeof PATHS;

/** A decorative icon, next to text or in a button with a label. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="i" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name]}
    </svg>
  );
}
