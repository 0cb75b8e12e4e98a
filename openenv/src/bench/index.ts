export { descriptorLimit } from "../util/descriptor-limit.js";
export { findServerProcesses, readServerUse } from "./burst/local-server.js";
export { findMaxBatches, type MaxBatch, type NamedRow } from "./burst/max-batch.js";
export { createLoad, type Load, type LoadOptions, type LoadResult, runSessions, type Workload } from "./load.js";
export { interleave, medianOf, ratioOf, type Samples } from "./matrix.js";
export { cpuSeconds, type Measured, measureCpu, residentBytes } from "./measure.js";
export { type Results, readResults } from "./report/read-results.js";
export { judgeRow, type Report, type Row, renderCsv, renderReport, type Target } from "./report.js";
