export const title = "all faults";

/** The rows that say how many faults a part has made. */
const FAULTS = /-all$|^recovery-cuts$|^restart-kills$|^kills$/;

export const run = (_bench, rows) => {
  const made = rows.filter(({ id }) => FAULTS.test(id)).map(({ samples }) => samples.measured[0]);
  return [
    {
      ...{ id: "total", measure: "faults of all kinds above", unit: "faults" },
      samples: { measured: [made.reduce((sum, count) => sum + count, 0)] },
      targets: [{ limit: "at least", value: 10_000 }],
    },
  ];
};
