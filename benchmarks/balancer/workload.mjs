/** A step of the benchmark environment that does not wait. */
export const workload = {
  actions: () => [{ wait_seconds: 0 }],
  check: ({ observation, reward }) => (observation?.pid > 0 && reward === 1 ? undefined : "not the answer to the step"),
};
