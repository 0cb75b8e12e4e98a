export { createLoad, type LoadOptions, type LoadResult, runSessions, type SessionLoad, type Workload } from "./load.js";
export { interleave, medianOf, ratioOf, type Samples } from "./matrix.js";
export { type Measurement, measureCpu, residentBytes } from "./measure.js";
export { type BenchReport, type ReportRow, type RowTarget, renderReport } from "./report.js";
