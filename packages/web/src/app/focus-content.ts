/** Focuses the content of the current view. Play stays in the page, hidden, while another view is shown. */
export function focusContent(): void {
  document.querySelector<HTMLElement>(".view:not([hidden]) main")?.focus();
}
