/** Goes to the content of the view that is shown: Play stays in the page, hidden, while another one is. */
export function focusContent(): void {
  document.querySelector<HTMLElement>(".view:not([hidden]) main")?.focus();
}
