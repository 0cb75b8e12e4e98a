import { useSyncExternalStore } from "react";

/** The number of columns in the style sheet: three, two, or one. */
export type Layout = "wide" | "middle" | "phone";

const [WIDE, PHONE, TOUCH] = [
  "(min-width: 75em)",
  "(max-width: 47.49em)",
  "(pointer: coarse), (max-width: 47.49em)",
].map((query) => matchMedia(query)) as [MediaQueryList, MediaQueryList, MediaQueryList];

export function useLayout(): Layout {
  return useSyncExternalStore(subscribe, () => (WIDE.matches ? "wide" : PHONE.matches ? "phone" : "middle"));
}

/** Pixels of a row, as in the style sheet, so that rows grow with the text size. */
export function useRowHeight(): (isKid: boolean) => number {
  const [rem, isTouch] = useSyncExternalStore(subscribe, measure).split(" ").map(Number) as [number, number];
  return (isKid) => (isTouch === 1 ? 3 : isKid ? 2.25 : 2.75) * rem;
}

function measure(): string {
  return `${Number.parseFloat(getComputedStyle(document.documentElement).fontSize)} ${TOUCH.matches ? 1 : 0}`;
}

function subscribe(listener: () => void): () => void {
  const queries = [WIDE, PHONE, TOUCH];
  for (const query of queries) query.addEventListener("change", listener);
  addEventListener("resize", listener);
  return () => {
    for (const query of queries) query.removeEventListener("change", listener);
    removeEventListener("resize", listener);
  };
}
