/** Half a character, which Python cannot encode. */
const LONE = /\p{Surrogate}/gu;

/** The start of a text of somebody else, fit to be sent: short, and with no half characters. */
export function clip(text: string, max: number): string {
  return text.slice(0, max).replace(LONE, "\ufffd");
}
