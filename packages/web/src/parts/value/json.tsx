import type { ReactNode } from "react";
import { firstEntries, sizeOf } from "./entries.js";

/** Fits on one line. */
const INLINE_LENGTH = 72;
/** More of an array or a text is not written. */
const MAX_ITEMS = 100;
const MAX_TEXT = 4000;
const MAX_DEPTH = 40;

/** A value as JSON, in one colour a kind; text nodes only. Long arrays and texts are cut, and say so. */
export function Json({ value, bare = false }: { value: unknown; bare?: boolean }) {
  return <pre className={`code ${bare ? "code--bare" : ""}`}>{render(value, "", 0)}</pre>;
}

function render(value: unknown, indent: string, depth: number): ReactNode {
  if (typeof value === "string") return renderText(value);
  if (typeof value !== "object" || value === null) return <span className="n">{String(value)}</span>;
  const isList = Array.isArray(value);
  const size = sizeOf(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (size === 0) return <span className="p">{open + close}</span>;
  if (depth >= MAX_DEPTH) return <span className="p">{`${open}…${close}`}</span>;
  const inline = fitsInline(value);
  const deeper = inline ? "" : `${indent}  `;
  const gap = inline ? (isList ? "" : " ") : `\n${deeper}`;
  const end = inline ? gap : `\n${indent}`;
  const shown = firstEntries(value, MAX_ITEMS);
  return (
    <>
      <span className="p">{open + gap}</span>
      {shown.map(([key, item], at) => (
        <span key={key}>
          {isList ? null : <span className="k">{JSON.stringify(key)}</span>}
          {isList ? null : <span className="p">: </span>}
          {render(item, deeper, depth + 1)}
          {at < size - 1 ? <span className="p">{inline ? ", " : `,\n${deeper}`}</span> : null}
        </span>
      ))}
      {size > shown.length ? <span className="p">{`… ${(size - shown.length).toLocaleString("en")} more`}</span> : null}
      <span className="p">{end + close}</span>
    </>
  );
}

function renderText(text: string): ReactNode {
  const cut = text.length > MAX_TEXT;
  const inside = JSON.stringify(cut ? text.slice(0, MAX_TEXT) : text).slice(1, -1);
  return (
    <>
      <span className="p">"</span>
      <bdi>{inside}</bdi>
      <span className="p">{cut ? `…" (${text.length.toLocaleString("en")} characters)` : '"'}</span>
    </>
  );
}

function fitsInline(value: object): boolean {
  if (sizeOf(value) > 12) return false;
  const items: unknown[] = Object.values(value);
  if (items.some((item) => typeof item === "object" && item !== null && sizeOf(item) > 0)) return false;
  if (items.some((item) => typeof item === "string" && item.length > INLINE_LENGTH)) return false;
  return JSON.stringify(value).length <= INLINE_LENGTH;
}
