/** The longest delay of a timer, milliseconds (24 days); a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
