/** The field that was last focused because of its error. */
let last: Element | undefined;

/** Focuses the first field of a form with an error, or the one after the field that was focused for this before. */
export function focusProblem(form: string, from: "first" | "next"): void {
  const fields = [...(document.getElementById(form)?.querySelectorAll<HTMLElement>(".field") ?? [])];
  const wrong = fields.filter((field) => field.querySelector(":scope > .slot > .err")?.checkVisibility());
  const before = from === "next" && last ? wrong.indexOf(last as HTMLElement) : -1;
  const field = wrong[(before + 1) % wrong.length];
  last = field;
  const input = field?.querySelector<HTMLElement>("input, textarea, select, button") ?? field;
  input?.focus();
  input?.scrollIntoView({ block: "nearest" });
}
