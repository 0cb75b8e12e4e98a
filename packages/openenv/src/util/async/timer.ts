/** The longest time that a timer takes, 24 days; a longer one would fire at once. Milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
